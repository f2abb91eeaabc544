-- The output of qdissect as tables and views of DuckDB.
--
-- lines has one row for each object of -o jsonl or -o json. Its types are those of the
-- JSON Schema, so nothing is guessed. Load one file or many:
--
--   COPY lines FROM 'server.jsonl' (FORMAT json);
--   COPY lines FROM 'out/**/*.jsonl' (FORMAT json);
--
-- docs/questions.md describes the columns and has examples.

CREATE TABLE IF NOT EXISTS lines (
  type VARCHAR, schema VARCHAR, file VARCHAR, link_type VARCHAR, first_frame UBIGINT,
  {{envelope}},
  -- the summary
  packets UBIGINT, datagrams UBIGINT, messages JSON, message_types JSON,
  requests STRUCT(sent UBIGINT, answered UBIGINT, answered_late UBIGINT, answered_in_part UBIGINT, refused UBIGINT, unanswered UBIGINT, open UBIGINT,
    one_sided UBIGINT, repeated UBIGINT, forgotten UBIGINT),
  ambiguous_round_trips UBIGINT, round_trips JSON, findings_by_id JSON, findings_by_severity STRUCT(chat UBIGINT, note UBIGINT, warning UBIGINT, error UBIGINT),
  unknown STRUCT(datagrams UBIGINT, game_traffic UBIGINT, guesses JSON), malformed UBIGINT, reassemblies STRUCT(complete UBIGINT, incomplete UBIGINT),
  duplicates UBIGINT, bytes UBIGINT, kernel_received UBIGINT, kernel_lost UBIGINT,
  evicted STRUCT(flows UBIGINT, requests UBIGINT, clients UBIGINT, fragments UBIGINT,
    seconds STRUCT(time TIMESTAMP_NS, flows UBIGINT, requests UBIGINT, clients UBIGINT)[]),
  one_sided UBIGINT, panics UBIGINT, icmp_errors UBIGINT, tcp STRUCT(servers UBIGINT, packets UBIGINT, connections UBIGINT, made UBIGINT, refused UBIGINT, unanswered UBIGINT), first_time TIMESTAMP_NS, last_time TIMESTAMP_NS, damaged VARCHAR, sha256 VARCHAR,
  -- the fields of each protocol
  {{columns}}
);

-- The lines with the file that they are about, and the capture: several may be in one
-- output. The files of a series, after the first, continue a capture.
CREATE OR REPLACE VIEW numbered AS
WITH
  places AS (SELECT rowid AS place, type, file, first_frame FROM lines),
  numbers AS (SELECT place,
      sum(CASE WHEN type = 'capture' AND first_frame IS NULL THEN 1 ELSE 0 END) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) AS capture,
      sum(CASE type WHEN 'capture' THEN 1 ELSE 0 END) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) AS part
    FROM places),
  parts AS (SELECT row_number() OVER (ORDER BY place) AS part, file FROM places WHERE type = 'capture')
SELECT l.* EXCLUDE (file), n.capture, p.file
FROM lines l JOIN numbers n ON l.rowid = n.place LEFT JOIN parts p USING (part);

-- One row for each message.
CREATE OR REPLACE VIEW messages AS
SELECT file, {{message}}, coalesce({{keys}}) AS fields, data
FROM numbered WHERE type = 'message';

-- One row for each finding, of messages and others.
CREATE OR REPLACE VIEW findings AS
SELECT file, frame, time, src_ip, src_port, dst_ip, dst_port, flow_id, interface, vlan, protocol, message, icmp_frame, unnest(findings, recursive := true)
FROM (SELECT * EXCLUDE (length) FROM numbered WHERE type IN ('message', 'finding'));

-- One row for each request, with what became of it, if the lines were written with --exchanges.
-- A request can be in an earlier file of a series than the line about it.
CREATE OR REPLACE VIEW exchanges AS
SELECT f.file, frame, time, src_ip AS client_ip, src_port AS client_port, dst_ip AS server_ip, dst_port AS server_port, flow_id,
  interface, vlan, protocol, message AS request, {{exchange}}, server
FROM (SELECT * EXCLUDE (file) FROM numbered WHERE type = 'exchange') x
  ASOF LEFT JOIN (SELECT capture, coalesce(first_frame, 1) AS first, file FROM numbered WHERE type = 'capture') f ON x.capture = f.capture AND x.frame >= f.first
  JOIN (SELECT CASE WHEN bool_or(requests.sent > 0) AND NOT bool_or(type = 'exchange') THEN error('no exchanges: write the lines with qdissect -o jsonl --exchanges') END AS missing FROM lines) ON missing IS NULL;
