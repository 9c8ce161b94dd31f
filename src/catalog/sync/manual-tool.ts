/** Resolves the credential of a Tool resource from its secret. */
import type { BoundSecret } from '../../model/bound-secret.ts'
import type { ToolResource } from '../resource/tool-resource.ts'
import type { ReferenceReader } from './tool-set-sync.ts'

export interface ManualTool {
  readonly resource: ToolResource
  readonly credential: BoundSecret | undefined
}

/** @throws Error when the secret cannot be read */
export async function withCredential(
  resource: ToolResource,
  references: ReferenceReader,
): Promise<ManualTool> {
  const ref = resource.authentication?.secretRef
  const credential = ref === undefined ? undefined : await references.readSecret(resource.namespace, ref)
  return { resource, credential }
}
