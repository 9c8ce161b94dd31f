/** One rung in a process, from the file that `bundle.ts` makes: given RUNG and BACKEND, it prints its port and its callers' token. */
import { raiseInliningLimits } from '../../../src/app/main/release-start-memory.ts'
import { listenAlone } from '../load/our-listener.ts'
import { startFloor } from './floor.ts'
import { leastRung } from './least.ts'
import { LEAST, RUNGS, VARIANTS } from './rung-list.ts'
import { BACKEND_PATH, openRung } from './rungs.ts'

const [name = '', upstream = ''] = process.argv.slice(2)
const names = [...RUNGS.map(([id]) => id), ...VARIANTS.map(({ id }) => id), LEAST[0]]
const rung = names.find(id => id === name)
if (rung === undefined) throw new Error(`no rung "${name}": ${names.join(', ')}`)

// as the gateway does
raiseInliningLimits()
if (rung === 'floor') console.log(JSON.stringify({ port: startFloor(upstream, BACKEND_PATH), token: 'none' }))
else {
  const { handler, token } =
    rung === 'least'
      ? await leastRung(upstream, BACKEND_PATH.slice(0, BACKEND_PATH.lastIndexOf('/') + 1))
      : await openRung(rung, upstream)
  console.log(JSON.stringify({ port: await listenAlone(handler), token }))
}
