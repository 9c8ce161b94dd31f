/** The whole export surface of the kernel, and nothing else. */

export { admit } from './admit'
export { takeTokens, tokensLeft } from './bucket'
export { readCall } from './envelope'
export { init } from './init'
export { normalize } from './path'
export { match, segmentHash, useTable } from './route'
export * from './window'
