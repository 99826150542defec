"""Analysis of archives: every decision of many matches, valued on the farm, judged and reported."""
