/** One rung in a process: `tsx server.ts RUNG BACKEND` prints its port and the token of its callers. It measures nothing. */
import { listenAlone } from '../load/our-listener.ts'
import { startFloor } from './floor.ts'
import { RUNGS } from './rung-list.ts'
import { BACKEND_PATH, openRung } from './rungs.ts'

const [name = '', upstream = ''] = process.argv.slice(2)
const rung = RUNGS.find(([id]) => id === name)?.[0]
if (rung === undefined) throw new Error(`no rung "${name}": ${RUNGS.map(([id]) => id).join(', ')}`)

if (rung === 'floor') console.log(JSON.stringify({ port: startFloor(upstream, BACKEND_PATH), token: 'none' }))
else {
  const { handler, token } = await openRung(rung, upstream)
  console.log(JSON.stringify({ port: await listenAlone(handler), token }))
}
