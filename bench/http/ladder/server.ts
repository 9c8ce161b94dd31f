/** One rung in a process, from the file that `bundle.ts` makes: given RUNG and BACKEND, it prints its port and its callers' token. It measures nothing. */
import { listenAlone } from '../load/our-listener.ts'
import { startFloor } from './floor.ts'
import { RUNGS, VARIANTS } from './rung-list.ts'
import { BACKEND_PATH, openRung } from './rungs.ts'

const [name = '', upstream = ''] = process.argv.slice(2)
const names = [...RUNGS.map(([id]) => id), ...VARIANTS.map(({ id }) => id)]
const rung = names.find(id => id === name)
if (rung === undefined) throw new Error(`no rung "${name}": ${names.join(', ')}`)

if (rung === 'floor') console.log(JSON.stringify({ port: startFloor(upstream, BACKEND_PATH), token: 'none' }))
else {
  const { handler, token } = await openRung(rung, upstream)
  console.log(JSON.stringify({ port: await listenAlone(handler), token }))
}
