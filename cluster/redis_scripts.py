"""The steps of the farm's books as scripts that Redis carries out whole or not at all.

`#!lua` has a server whose memory is full refuse a script at its beginning; without it, a script that begins with EXPIRE
would be let through.
"""

# KEYS: question, result, order, index, open, feed
# ARGV: key, now, kind, request, client, priority, prefixes of jobs, events and askers, seconds to keep, length of feed
SUBMIT = """#!lua
-- Where the question was forgotten before its first job, which ended later, that job still counts.
local latest = redis.call('HGET', KEYS[1], 'job') or ARGV[1]
redis.call('EXPIRE', KEYS[1], ARGV[10])
if redis.call('EXISTS', ARGV[7] .. latest) == 1 then
  local state = redis.call('HGET', ARGV[7] .. latest, 'state')
  if state == 'queued' or state == 'running' or (state == 'done' and redis.call('EXISTS', KEYS[2]) == 1) then
    redis.call('SADD', ARGV[9] .. latest, ARGV[5])
    redis.call('EXPIRE', ARGV[9] .. latest, ARGV[10])
    return {latest, 0, redis.call('HGETALL', ARGV[7] .. latest)}
  end
end
local id
repeat
  local number = redis.call('HINCRBY', KEYS[1], 'number', 1)
  id = ARGV[1]
  if number > 1 then id = id .. '-' .. number end
until redis.call('EXISTS', ARGV[7] .. id, ARGV[8] .. id) == 0
redis.call('HSET', KEYS[1], 'job', id)
redis.call('EXPIRE', KEYS[1], ARGV[10])
redis.call('SADD', ARGV[9] .. id, ARGV[5])
redis.call('EXPIRE', ARGV[9] .. id, ARGV[10])
local order = redis.call('INCR', KEYS[3])
local job = ARGV[7] .. id
redis.call('HSET', job, 'id', id, 'kind', ARGV[3], 'state', 'queued', 'request', ARGV[4], 'created', ARGV[2],
  'updated', ARGV[2], 'owner', 'farm', 'key', ARGV[1], 'client', ARGV[5], 'priority', ARGV[6], 'order', order,
  'events', 1)
redis.call('ZADD', KEYS[4], ARGV[2], id)
redis.call('ZADD', KEYS[5], order, id)
local data = cjson.encode({priority = ARGV[6], client = ARGV[5]})
redis.call('XADD', ARGV[8] .. id, '1-0', 'kind', 'queued', 'time', ARGV[2], 'data', data)
redis.call('XADD', KEYS[6], 'MAXLEN', '~', ARGV[11], '*', 'job', id, 'number', 1, 'kind', 'queued', 'time', ARGV[2],
  'data', data)
return {id, 1, redis.call('HGETALL', job)}
"""

# KEYS: job, events, open, feed, askers
# ARGV: id, now, kind of event, data, final (1 or 0), seconds to keep, events to keep, length of the feed,
#   only where nobody asks for the job (1 or 0), number of states, states in which the step is possible, then fields and
#   values to set
STEP = """#!lua
local state = redis.call('HGET', KEYS[1], 'state')
local states = tonumber(ARGV[10])
local possible = false
for i = 11, 10 + states do
  if ARGV[i] == state then possible = true end
end
if not possible then return 0 end
if ARGV[9] == '1' and redis.call('SCARD', KEYS[5]) > 0 then return 0 end
redis.call('HSET', KEYS[1], 'updated', ARGV[2])
for i = 11 + states, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
local number = redis.call('HINCRBY', KEYS[1], 'events', 1)
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[7], number .. '-0', 'kind', ARGV[3], 'time', ARGV[2], 'data', ARGV[4])
redis.call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[8], '*', 'job', ARGV[1], 'number', number, 'kind', ARGV[3], 'time',
  ARGV[2], 'data', ARGV[4])
if ARGV[5] == '1' then
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('EXPIRE', KEYS[1], ARGV[6])
  redis.call('EXPIRE', KEYS[2], ARGV[6])
  redis.call('EXPIRE', KEYS[5], ARGV[6])
end
return number
"""

# KEYS: job, askers; ARGV: client. Returns how many others there are; -1 if the client is none of them. A job that
# nobody asks for any more is free for all: so that the same call again, after its answer was lost, still ends it.
LEAVE = """#!lua
local askers = redis.call('SCARD', KEYS[2])
if askers > 0 and redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 0 then return -1 end
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'queued' and state ~= 'running' then return math.max(askers - 1, 0) end
return askers - redis.call('SREM', KEYS[2], ARGV[1])
"""

# KEYS: lease; ARGV: owner, milliseconds (0: give it back)
LEASE = """#!lua
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then
  if owner then redis.call('DEL', KEYS[1]) end
  return 1
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
