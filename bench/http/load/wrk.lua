-- What wrk sends and how it checks each response: status 200 and a text in the body. Argument: folder with the requests, which are sent in turns; see wrk.ts.
local threads = {}
function setup(thread) table.insert(threads, thread) end

function init(args)
  local function read(name)
    local file = assert(io.open(args[1] .. "/" .. name, "rb"))
    local text = file:read("*a")
    file:close()
    return text
  end
  requests = {}
  for at = 1, tonumber(read("requests")) do requests[at] = read("request-" .. at - 1) end
  sent = 0
  holds = read("holds")
  expected = tonumber(read("status"))
  wrong, right, sample = 0, 0, ""
end

function request()
  sent = sent + 1
  return requests[(sent - 1) % #requests + 1]
end

function response(status, headers, body)
  if status == expected and string.find(body, holds, 1, true) then
    right = right + 1
  else
    wrong = wrong + 1
    if sample == "" then sample = status .. " " .. string.sub(body, 1, 200) end
  end
end

function done(summary, latency)
  local wrong, right, sample = 0, 0, ""
  for _, thread in ipairs(threads) do
    wrong = wrong + thread:get("wrong")
    right = right + thread:get("right")
    sample = sample .. thread:get("sample")
  end
  local errors = summary.errors
  io.write(string.format(
    "FIGURES %d %d %d %d %d %d %d\n",
    right, wrong, errors.connect + errors.read + errors.write + errors.timeout, summary.duration,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
  if sample ~= "" then io.write("SAMPLE " .. sample:gsub("\n", " ") .. "\n") end
end
