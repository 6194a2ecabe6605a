"""The jobs that are killed: one for each operator that keeps something from tick to tick.

A job's INSERTs write to the tables done and done2, files of JSON; results that change are written as changes (debezium-json), and what they
leave in the end is compared.
"""
import random

WINDOW = "GROUP BY window_start, window_end"
COLUMNS = "id BIGINT, k INT, v BIGINT, ts TIMESTAMP(3)"
TIMED = f"{COLUMNS}, p AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '3' SECOND"


def stamp(second):
    return f"2024-01-01 {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def rows(r, count, delay):
    """Times go on by about a second a row, some rows come so much later."""
    for i in range(count):
        second = max(0, i - (r.randint(0, delay) if r.random() < 0.2 else 0))
        value = "null" if r.random() < 0.02 else r.randint(0, 400)
        yield f'{{"id":{i},"k":{r.randint(0, 12)},"v":{value},"ts":"{stamp(second)}"}}\n'


def write_inputs(folder, seed, count):
    """s: a folder of three files; r: a file, no row of it too late; t: few rows."""
    r = random.Random(seed)
    lines = list(rows(r, count, 12))
    for i in range(3):
        with open(f"{folder}/s/{i}.json", "w", encoding="utf-8") as f:
            f.writelines(lines[i * count // 3:(i + 1) * count // 3])
    with open(f"{folder}/r.json", "w", encoding="utf-8") as f:
        f.writelines(rows(r, count, 2))
    with open(f"{folder}/t.json", "w", encoding="utf-8") as f:
        f.writelines(f'{{"k":{k},"name":"n{k}"}}\n' for k in range(0, 12, 2))


class Job:
    """columns: of done. inserts: texts; several are a statement set."""

    def __init__(self, name, columns, *inserts, views="", changes=False, sink="", columns2=None, partitions="", grows=False):
        self.name, self.columns, self.inserts, self.views, self.changes = name, columns, inserts, views, changes
        self.sink, self.columns2, self.partitions, self.grows = sink, columns2, partitions, grows

    def script(self, inputs, outputs, source=""):
        def files(path, more="", form="json"):
            return f"WITH ('connector'='filesystem','format'='{form}','path'='{path}'{more})"

        rolling = self.sink or ",'sink.rolling-policy.file-size'='2 kb'"
        tables = [f"CREATE TABLE s ({TIMED}) {files(inputs + '/s', source)}",
                  f"CREATE TABLE r ({TIMED}, PRIMARY KEY (id) NOT ENFORCED) {files(inputs + '/r.json')}",
                  f"CREATE TABLE t (k INT, name STRING) {files(inputs + '/t.json')}",
                  f"CREATE TABLE generated (id BIGINT, k INT, v BIGINT) WITH ('connector'='datagen','number-of-rows'='1500','seed'='7',"
                  "'fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='1500','fields.k.min'='0','fields.k.max'='9')",
                  "CREATE TABLE events (event_type INT, bid ROW<auction BIGINT, bidder BIGINT, price BIGINT>) WITH ('connector'='nexmark',"
                  "'events.num'='1500')"]
        form = "debezium-json" if self.changes else "json"
        tables.append(f"CREATE TABLE done ({self.columns}) {self.partitions} {files(outputs + '/out', rolling, form)}")
        if self.columns2:
            tables.append(f"CREATE TABLE done2 ({self.columns2}) {files(outputs + '/out2', rolling)}")
        body = ";\n".join(self.inserts)
        if len(self.inserts) > 1:
            body = f"EXECUTE STATEMENT SET BEGIN\n{body};\nEND"
        return ";\n".join(tables) + f";\n{self.views}\n{body};\n"


def window(call, select):
    return f"INSERT INTO done SELECT {select} FROM TABLE({call})"


def ranked(order, limit):
    """The best rows of each group."""
    return (f"INSERT INTO done SELECT k, n, v, id, CAST(ts AS STRING) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS n FROM s) "
            f"WHERE n <= {limit}")


RANKED = "k INT, n BIGINT, v BIGINT, id BIGINT, ts STRING"
L, R = ("(SELECT * FROM TABLE(TUMBLE(TABLE %s, DESCRIPTOR(ts), INTERVAL '10' SECOND)))" % table for table in "sr")
SAME_WINDOW = "l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end"
NEAR = "s.id = r.id AND s.ts BETWEEN r.ts - INTERVAL '5' SECOND AND r.ts + INTERVAL '1' SECOND"

JOBS = [
    Job("calc", "id BIGINT, k INT", "INSERT INTO done SELECT id, k + 1 FROM s WHERE v > 50 OR v IS NULL", grows=True),
    Job("aggregate", "k INT, n BIGINT, v BIGINT", "INSERT INTO done SELECT k, COUNT(*), SUM(v) FROM s GROUP BY k", changes=True),
    Job("aggregate of aggregate", "k INT, n BIGINT, v BIGINT",
        "INSERT INTO done SELECT k, SUM(n), MAX(n) FROM (SELECT k, v, COUNT(*) AS n FROM s GROUP BY k, v) GROUP BY k", changes=True),
    Job("distinct", "k INT, n BIGINT, v BIGINT", "INSERT INTO done SELECT k, COUNT(DISTINCT v), COUNT(*) FROM s GROUP BY k", changes=True),
    Job("distinct rows", "k INT, v BIGINT", "INSERT INTO done SELECT DISTINCT k, v FROM s"),
    Job("tumble", "a STRING, k INT, n BIGINT, v BIGINT",
        window("TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND)", "CAST(window_start AS STRING), k, COUNT(DISTINCT v), SUM(v)") + f" {WINDOW}, k",
        grows=True),
    Job("hop", "a STRING, k INT, n BIGINT, v BIGINT",
        window("HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND)", "CAST(window_start AS STRING), k, COUNT(*), MIN(v)") + f" {WINDOW}, k"),
    Job("cumulate", "a STRING, n BIGINT, v BIGINT, id BIGINT",
        window("CUMULATE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '60' SECOND)",
               "CAST(window_end AS STRING), COUNT(*), SUM(v), MAX(id)") + " " + WINDOW),
    Job("session", "a STRING, b STRING, k INT, n BIGINT",
        window("SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '8' SECOND)",
               "CAST(window_start AS STRING), CAST(window_end AS STRING), k, COUNT(*)") + f" {WINDOW}, k"),
    Job("window columns", "id BIGINT, a STRING",
        window("HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)", "id, CAST(window_start AS STRING)")),
    Job("interval join", "a BIGINT, b BIGINT, v BIGINT", f"INSERT INTO done SELECT s.id, r.id, s.v + r.v FROM s JOIN r ON {NEAR}"),
    Job("interval join, left", "a BIGINT, b BIGINT, v BIGINT", f"INSERT INTO done SELECT s.id, r.id, r.v FROM s LEFT JOIN r ON {NEAR} AND r.v > 200"),
    Job("join", "a BIGINT, b BIGINT", "INSERT INTO done SELECT s.id, r.id FROM s JOIN r ON s.id = r.id AND s.v >= r.v"),
    Job("join, left", "a BIGINT, b BIGINT", "INSERT INTO done SELECT s.id, r.v FROM s LEFT JOIN r ON s.id = r.id AND r.k < 6", changes=True),
    Job("join, full", "k BIGINT, a BIGINT, b BIGINT",
        "INSERT INTO done SELECT COALESCE(s.id, r.id + 300), s.v, r.v FROM s FULL JOIN r ON s.id = r.id + 300", changes=True),
    Job("join, semi", "a BIGINT", "INSERT INTO done SELECT id FROM s WHERE EXISTS (SELECT 1 FROM r WHERE r.id = s.id AND r.k < 6)"),
    Job("join, anti", "a BIGINT", "INSERT INTO done SELECT id FROM s WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.id = s.id AND r.k < 6)",
        changes=True),
    Job("join of aggregates", "k INT, a BIGINT, b BIGINT",
        "INSERT INTO done SELECT l.k, l.n, r.n FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) AS l FULL JOIN "
        "(SELECT k, SUM(v) AS n FROM r GROUP BY k) AS r ON l.k = r.k", changes=True),
    Job("except", "k INT, v BIGINT", "INSERT INTO done SELECT k, v FROM s EXCEPT SELECT k, v FROM r", changes=True),
    Job("window join", "a BIGINT, b BIGINT", f"INSERT INTO done SELECT l.id, r.id FROM {L} AS l LEFT JOIN {R} AS r ON {SAME_WINDOW}"),
    Job("window join, anti", "a BIGINT", f"INSERT INTO done SELECT l.id FROM {L} AS l WHERE NOT EXISTS (SELECT 1 FROM {R} AS r WHERE {SAME_WINDOW})"),
    Job("temporal join", "a BIGINT, b BIGINT", "INSERT INTO done SELECT s.id, r.v FROM s LEFT JOIN r FOR SYSTEM_TIME AS OF s.ts ON s.id = r.id"),
    Job("lookup join", "a BIGINT, name STRING", "INSERT INTO done SELECT s.id, t.name FROM s LEFT JOIN t FOR SYSTEM_TIME AS OF s.p ON s.k = t.k"),
    Job("top 3", RANKED, ranked("v DESC, id", 3), changes=True),
    Job("first row", RANKED, ranked("ts", 1), changes=True),
    Job("last row", RANKED, ranked("ts DESC", 1), changes=True),
    Job("over", "id BIGINT, v BIGINT, n BIGINT",
        "INSERT INTO done SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 5 PRECEDING AND CURRENT ROW), "
        "COUNT(*) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 5 PRECEDING AND CURRENT ROW) FROM s"),
    Job("sort", "id BIGINT, v BIGINT", "INSERT INTO done SELECT id, v FROM s ORDER BY ts"),
    Job("order by, limit", "id BIGINT, v BIGINT", "INSERT INTO done SELECT id, v FROM s ORDER BY v DESC, id LIMIT 20", changes=True),
    Job("limit", "n BIGINT", "INSERT INTO done SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM (SELECT id FROM s LIMIT 700))", changes=True),
    Job("union, two sinks", "a BIGINT, b BIGINT", "INSERT INTO done SELECT id, v FROM s UNION ALL SELECT id, v FROM r WHERE v > 100",
        "INSERT INTO done2 SELECT k, v FROM s WHERE k > 3", columns2="k INT, v BIGINT"),
    Job("partitions", "id BIGINT, v BIGINT, k INT", "INSERT INTO done SELECT id, v, k FROM s", partitions="PARTITIONED BY (k)",
        sink=",'sink.rolling-policy.file-size'='300 b','sink.partition-commit.policy.kind'='success-file'", grows=True),
    Job("partitions by time", "id BIGINT, v BIGINT, m STRING", "INSERT INTO done SELECT id, v, DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm:00') FROM s",
        partitions="PARTITIONED BY (m)",
        sink=",'sink.rolling-policy.file-size'='1 kb','sink.partition-commit.policy.kind'='success-file',"
             "'sink.partition-commit.trigger'='partition-time','sink.partition-commit.delay'='1 min'"),
    Job("datagen", "id BIGINT, k INT, v BIGINT", "INSERT INTO done SELECT id, k, v FROM generated"),
    Job("nexmark", "a BIGINT, b BIGINT, p BIGINT", "INSERT INTO done SELECT bid.auction, bid.bidder, bid.price FROM events WHERE event_type = 2"),
]
