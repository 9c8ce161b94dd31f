/** One rung in a process: `tsx server.ts RUNG BACKEND` prints its port and the token of its callers. It measures nothing. */
import { createListener } from '../../../src/shared/server/create.ts'
import { DEFAULT_LISTENER_LIMITS } from '../../../src/shared/server/listener.ts'
import { startFloor } from './floor.ts'
import { BACKEND_PATH, openRung, RUNGS } from './rungs.ts'

const [name = '', upstream = ''] = process.argv.slice(2)
const rung = RUNGS.find(([id]) => id === name)?.[0]
if (rung === undefined) throw new Error(`no rung "${name}": ${RUNGS.map(([id]) => id).join(', ')}`)

if (rung === 'floor') console.log(JSON.stringify({ port: startFloor(upstream, BACKEND_PATH), token: 'none' }))
else {
  const { handler, token } = await openRung(rung, upstream)
  const listener = createListener('uws', {
    host: '127.0.0.1',
    port: 0,
    limits: DEFAULT_LISTENER_LIMITS,
    allowChunkedRequests: false,
    sharePort: false,
    onRefused: reason => {
      throw new Error(`a load run sends only valid requests, yet one was refused: ${reason}`)
    },
    handler,
  })
  console.log(JSON.stringify({ port: (await listener.listen()).port, token }))
}
