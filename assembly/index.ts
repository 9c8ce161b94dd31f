/** The whole export surface of the kernel, and nothing else. */
export { init } from './memory'
