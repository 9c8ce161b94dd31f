/**
 * The two parts of undici that outgoing calls use, by their files. `undici` itself would load its fetch, WebSocket, cache and cookies as well,
 * and with the cookies the undici inside Node: 9 MiB of memory and a third of what remains. It adds nothing.
 */
import buildConnector from 'undici/lib/core/connect.js'
import Pool from 'undici/lib/dispatcher/pool.js'

export { buildConnector, Pool }
