/** A file system for PGlite that removes the permissions of group and others from the modes that it sets. */
import { NodeFS } from '@electric-sql/pglite/nodefs'

const GROUP_AND_OTHERS = 0o077

interface Attributes {
  readonly mode?: number | null
}
type SetAttributes = (target: unknown, attributes: Attributes) => void
interface HostFiles {
  readonly node_ops: { setattr: SetAttributes }
  readonly stream_ops: { setattr: SetAttributes }
}

/**
 * Emscripten sets the mode of every file with chmod(2), to which no umask applies, and PGlite requests 0666.
 * Therefore the modes are masked where Emscripten passes them to the host.
 */
export class PrivateNodeFs extends NodeFS {
  override async init(...[pg, options]: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(pg, options)
    const mask = (module: unknown): void => {
      const { node_ops, stream_ops } = (module as { NODEFS: HostFiles }).NODEFS
      for (const operations of [node_ops, stream_ops]) {
        const setAttributes = operations.setattr
        operations.setattr = (target, attributes) =>
          setAttributes(
            target,
            attributes.mode == null
              ? attributes
              : { ...attributes, mode: attributes.mode & ~GROUP_AND_OTHERS },
          )
      }
    }
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [mask, ...(emscriptenOpts.preRun ?? [])] } }
  }
}
