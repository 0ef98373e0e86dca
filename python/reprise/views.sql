-- Views of Reprise's record files in DuckDB 1.1 or later. The files are read as they are, packed (.gz) or not:
--   SET VARIABLE reprise_files = ['out/quickstart/desk/records.jsonl'];
--   .read views.sql
-- points   a row for each point: the columns of reprise.records(), with settings, resolved settings, metrics and answers as JSON
-- metrics  a row for each metric of a point
-- samples  a row for each sample of a metric, in the order they were taken
-- A file that a run is still writing may end in half a line, which DuckDB refuses.

CREATE OR REPLACE VIEW reprise_lines AS
SELECT row_number() OVER () AS line, filename, json, json->>'$.run' AS run
FROM read_ndjson_objects(getvariable('reprise_files'), filename = true);

-- Records, completed with the keys that all records of their run share. A file has these keys once, in the run's entry
-- (results/run_entry.h). A folder's files records.jsonl and records-WRITER.jsonl are one source. A point counts once in a
-- source, by its first record.
CREATE OR REPLACE VIEW reprise_records AS
WITH entries AS (
  SELECT filename, run, any_value(json) AS shared FROM reprise_lines WHERE (json->'$.point') IS NULL GROUP BY filename, run
), found AS (
  SELECT line, json, coalesce(shared, json) AS shared, json->>'$.point' AS point,
         CASE WHEN regexp_full_match(parse_filename(filename), 'records(-.*)?\.jsonl(\.gz)?')
              THEN coalesce(nullif(parse_dirpath(filename), ''), '.')
              ELSE filename END AS source
  FROM reprise_lines LEFT JOIN entries USING (filename, run)
  WHERE (json->'$.point') IS NOT NULL
)
SELECT * FROM found QUALIFY row_number() OVER (PARTITION BY source, point ORDER BY line) = 1;

CREATE OR REPLACE VIEW points AS
SELECT shared->>'$.experiment.name' AS experiment,
       shared->>'$.experiment.scale' AS scale,
       coalesce(nullif(json->>'$.settings.resolved.method_label', ''), json->>'$.settings.requested.method') AS label,
       point,
       shared->>'$.machine.cpu' AS cpu,
       (shared->>'$.provenance.revision')
         || CASE WHEN (shared->>'$.provenance.dirty')::BOOLEAN THEN '+' || coalesce(shared->>'$.provenance.changes', '')
                 ELSE '' END AS revision,
       json->>'$.ended_at' AS ended_at,
       source,
       shared->>'$.experiment.kind' AS kind,
       json->>'$.answers.verdict' AS verdict,
       shared->>'$.config_hash' AS config_hash,
       json->>'$.group.id' AS "group",
       json->>'$.started_at' AS started_at,
       shared->>'$.machine.device.name' AS gpu,
       (shared->>'$.machine.logical_cores')::BIGINT AS cores,
       shared->>'$.provenance.compiler' AS compiler,
       shared->>'$.provenance.flags' AS flags,
       json->'$.settings.requested' AS settings,
       json->'$.settings.resolved' AS resolved,
       json->'$.metrics' AS metrics,
       json->'$.answers' AS answers
FROM reprise_records
ORDER BY line;

-- low and high are the interval of the value; that of a median is the interval of the 50th percentile.
CREATE OR REPLACE VIEW metrics AS
WITH found AS (SELECT source, experiment, label, point, metrics, unnest(json_keys(metrics)) AS metric FROM points),
     one AS (SELECT * EXCLUDE (metrics), metrics->('/' || metric) AS fields FROM found)
SELECT source, experiment, label, point, metric,
       (fields->>'$.value')::DOUBLE AS value,
       fields->>'$.unit' AS unit,
       (fields->>'$.q1')::DOUBLE AS q1,
       (fields->>'$.q3')::DOUBLE AS q3,
       coalesce(fields->>'$.interval.low', fields->>'$.intervals.p50.low')::DOUBLE AS low,
       coalesce(fields->>'$.interval.high', fields->>'$.intervals.p50.high')::DOUBLE AS high
FROM one;

CREATE OR REPLACE VIEW samples AS
WITH found AS (
  SELECT source, point, json->'$.samples' AS of_metrics, unnest(json_keys(json->'$.samples')) AS metric FROM reprise_records
), lists AS (
  SELECT source, point, metric, (of_metrics->('/' || metric))::DOUBLE[] AS list FROM found
), numbered AS (
  SELECT source, point, metric, unnest(list) AS value, generate_subscripts(list, 1) - 1 AS index FROM lists
)
SELECT source, experiment, label, point, metric, unit, index, numbered.value
FROM numbered LEFT JOIN (SELECT source, experiment, label, point, metric, unit FROM metrics) USING (source, point, metric);
