"""Match records: reading, following and writing what two players did.

    record = read_record(data)                 # any format, the content decides which
    for decision in decisions(record): ...     # every position in which somebody had to decide
    text = write_record(record, RecordFormat.SGF)

Readers: `mat`, `sgf`, `xg`, `bgf`, `gnu_text`, `position_text`, `id_list`, `json_record`. What each format holds is in
docs/records.md.
"""
