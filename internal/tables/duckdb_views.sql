-- The exchanges with names of the Elastic Common Schema.
CREATE OR REPLACE VIEW ecs AS
SELECT time AS "@timestamp", 'network' AS "event.category", 'qdissect.' || protocol AS "event.dataset", request AS "event.action",
  CASE WHEN outcome IN ('answered', 'answered_late', 'challenged') THEN 'success'
    WHEN outcome IN ('one_sided', 'repeated', 'open', 'forgotten') THEN 'unknown' ELSE 'failure' END AS "event.outcome",
  outcome AS "event.reason", rtt_ns AS "event.duration", 'udp' AS "network.transport", protocol AS "network.protocol", flow_id AS "network.community_id",
  vlan AS "network.vlan.id", interface AS "observer.ingress.interface.name",
  client_ip AS "source.ip", client_port AS "source.port", request_bytes AS "source.bytes",
  client_ip AS "client.ip", client_port AS "client.port",
  server_ip AS "destination.ip", server_port AS "destination.port", reply_bytes AS "destination.bytes",
  server_ip AS "server.ip", server_port AS "server.port", file AS "log.file.path"
FROM exchanges;

-- The exchanges with names of Zeek, as in its logs of protocols.
CREATE OR REPLACE VIEW zeek AS
SELECT epoch_ns(time) / 1e9 AS ts, client_ip AS "id.orig_h", client_port AS "id.orig_p", server_ip AS "id.resp_h", server_port AS "id.resp_p", 'udp' AS proto,
  protocol AS service, request AS query, reply, rtt_ns / 1e9 AS rtt, request_bytes AS orig_bytes, reply_bytes AS resp_bytes, outcome, vlan,
  flow_id AS community_id
FROM exchanges;
