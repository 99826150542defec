"""Problems of the day."""
