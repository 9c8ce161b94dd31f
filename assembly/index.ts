/** The functions that the kernel exports to its host. */

export { admit } from './admit'
export { takeTokens, tokensLeft } from './bucket'
export { init } from './init'
export { normalize } from './path'
export { match, segmentHash, useTable } from './route'
export * from './window'
