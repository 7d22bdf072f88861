-- The request is in the environment. Every placeholder is replaced with the number of the request, eight digits, so that
-- no two requests are the same. Writes "sent" after BENCH_LIMIT requests, and the results as JSON at the end.

local PLACEHOLDER = 'XXXXXXXX'
local limit = tonumber(os.getenv('BENCH_LIMIT'))

wrk.method = os.getenv('BENCH_METHOD')
wrk.path = os.getenv('BENCH_PATH')
wrk.headers['authorization'] = os.getenv('BENCH_AUTHORIZATION')
if os.getenv('BENCH_BODY') ~= '' then
  wrk.body = os.getenv('BENCH_BODY')
  wrk.headers['content-type'] = 'application/json'
end

function init()
  local sent = 0
  local parts = {}
  for part in (wrk.format() .. PLACEHOLDER):gmatch('(.-)' .. PLACEHOLDER) do
    parts[#parts + 1] = part
  end
  function request()
    sent = sent + 1
    if sent == limit then
      io.write('sent\n')
      io.flush()
    end
    return table.concat(parts, ('%08d'):format(sent))
  end
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  local form = '{"requests": %d, "micros": %d, "bytes": %d, "failed": %d, "p50": %d, "p99": %d}\n'
  io.write(
    form:format(
      summary.requests,
      summary.duration,
      summary.bytes,
      failed,
      latency:percentile(50),
      latency:percentile(99)
    )
  )
end
