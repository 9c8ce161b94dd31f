/** The source of ToolSets: a directory or a Kubernetes cluster. It connects to nothing. */
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Reader } from './reader.ts'

export type ToolSetSettings =
  | { readonly source: 'directory'; readonly directory: string }
  | {
      readonly source: 'kubernetes'
      /** undefined: the service account of the pod. */
      readonly kubeconfig: string | undefined
      /** Namespace of the gateway itself, where the Lease of the leader lives. */
      readonly namespace: string
      /** Unique among the instances. */
      readonly identity: string
    }

/** Where Kubernetes puts the credentials of a pod. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount/token'

export function readToolSetSettings(read: Reader, isProduction: boolean): ToolSetSettings {
  const text = read.path('TOOLSETS', './toolsets', !isProduction)
  const kubeconfig = read.optional('KUBECONFIG')
  const namespace = read.text('POD_NAMESPACE', 'toolgate')
  const identity = read.text('POD_NAME', hostname())
  if (!text.startsWith('kubernetes:')) return { source: 'directory', directory: text }
  if (text !== 'kubernetes:')
    read.fault('TOOLSETS', `is "${text}".`, 'Write kubernetes: alone, or the path of a directory.')
  else if (kubeconfig === undefined && !existsSync(SERVICE_ACCOUNT)) {
    read.fault(
      'TOOLSETS',
      'is kubernetes: but this process has no service account of a pod.',
      'Set KUBECONFIG to the path of a kubeconfig file.',
    )
  }
  if (kubeconfig !== undefined && !existsSync(kubeconfig))
    read.fault('KUBECONFIG', 'names a file that does not exist.', 'Give the path of one kubeconfig file.')
  return { source: 'kubernetes', kubeconfig, namespace, identity }
}
