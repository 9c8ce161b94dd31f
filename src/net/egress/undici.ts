/**
 * The two parts of undici that outgoing calls use, imported by their files. The whole package also loads its fetch,
 * WebSocket, cache and cookies, and the copy of undici that Node contains: 4 MiB more in an idle gateway, and a later start.
 */
import buildConnector from 'undici/lib/core/connect.js'
import Pool from 'undici/lib/dispatcher/pool.js'

export { buildConnector, Pool }
