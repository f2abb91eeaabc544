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

-- One row for each request, with what became of it.
CREATE OR REPLACE VIEW exchanges AS
WITH
  replies AS (
    SELECT capture, request_frame AS frame, count(*)::UINTEGER AS replies, min(frame) AS reply_frame, arg_min(message, frame) AS reply,
      arg_min(rtt_ns, frame) AS rtt_ns, sum(wire_length)::UBIGINT AS reply_bytes, arg_min(server, frame) AS server,
      bool_or(list_contains(list_transform(findings, lambda f: f.id), 'reply.late')) AS late, bool_or(split.missing IS NOT NULL) AS in_part
    FROM numbered WHERE request_frame IS NOT NULL GROUP BY ALL),
  others AS (
    SELECT capture, frame, bool_or(icmp_frame <> frame) AS refused, bool_or(findings[1].id IN ({{unanswered}})) AS unanswered
    FROM numbered WHERE type = 'finding' GROUP BY ALL)
SELECT q.file, q.frame, q.time, q.src_ip AS client_ip, q.src_port AS client_port, q.dst_ip AS server_ip, q.dst_port AS server_port, q.flow_id,
  q.interface, q.vlan, q.protocol, q.message AS request,
  CASE WHEN r.late THEN 'answered_late' WHEN r.in_part THEN 'answered_in_part' WHEN r.replies > 0 THEN 'answered' WHEN o.refused THEN 'refused'
    WHEN o.unanswered THEN 'unanswered'
    WHEN list_contains(list_transform(q.findings, lambda f: f.id), 'request.retransmission') THEN 'repeated' ELSE 'unknown' END AS outcome,
  coalesce(r.replies, 0) AS replies, r.reply, r.reply_frame, r.rtt_ns, q.wire_length AS request_bytes, coalesce(r.reply_bytes, 0) AS reply_bytes, r.server
FROM (SELECT * FROM numbered WHERE role = 'request') q LEFT JOIN replies r USING (capture, frame) LEFT JOIN others o USING (capture, frame);
