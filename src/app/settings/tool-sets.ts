/** The source of ToolSets (a directory or a Kubernetes cluster), and the cluster of a process that needs one. It connects to nothing. */
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Reader } from './reader.ts'

export type ToolSetSettings =
  | { readonly source: 'directory'; readonly directory: string }
  | (ClusterSettings & { readonly source: 'kubernetes' })

interface ClusterSettings {
  /** undefined: the service account of the pod. */
  readonly kubeconfig: string | undefined
  /** Namespace of the process itself, where the Lease of the leader lives. */
  readonly namespace: string
  /** Unique among the instances. */
  readonly identity: string
}

/** Where Kubernetes puts the credentials of a pod. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount/token'

export function readToolSetSettings(read: Reader, isProduction: boolean): ToolSetSettings {
  const text = read.path('TOOLSETS', './toolsets', !isProduction)
  const cluster = clusterSettings(read)
  if (!text.startsWith('kubernetes:')) return { source: 'directory', directory: text }
  if (text !== 'kubernetes:')
    read.fault(
      'TOOLSETS',
      `is "${text}".`,
      'Set TOOLSETS to "kubernetes:" without a suffix, or to the path of a directory.',
    )
  else requireCluster(read, cluster, 'TOOLSETS', 'is "kubernetes:", but this process')
  return { source: 'kubernetes', ...cluster }
}

/** For a process that needs a cluster. */
export function readClusterSettings(read: Reader): ClusterSettings {
  const cluster = clusterSettings(read)
  requireCluster(read, cluster, 'KUBECONFIG', 'is not set, and this process')
  return cluster
}

function clusterSettings(read: Reader): ClusterSettings {
  return {
    kubeconfig: read.optional('KUBECONFIG'),
    namespace: read.text('POD_NAMESPACE', 'toolgate'),
    identity: read.text('POD_NAME', hostname()),
  }
}

function requireCluster(read: Reader, { kubeconfig }: ClusterSettings, name: string, subject: string): void {
  if (kubeconfig === undefined && !existsSync(SERVICE_ACCOUNT))
    read.fault(
      name,
      `${subject} does not run in a pod with a service account.`,
      'Set KUBECONFIG to the path of a kubeconfig file.',
    )
  if (kubeconfig !== undefined && !existsSync(kubeconfig))
    read.fault(
      'KUBECONFIG',
      'names a file that does not exist.',
      'Set KUBECONFIG to the path of one kubeconfig file.',
    )
}
