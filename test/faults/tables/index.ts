/** Every table of the matrix, in the order of the summary. */
import type { Table } from '../matrix.ts'
import { BACKEND } from './backend.ts'
import { CONTROL_PLANE } from './control-plane.ts'
import { DISK } from './disk.ts'
import { IDENTITY_PROVIDER } from './identity-provider.ts'
import { KAFKA } from './kafka.ts'
import { KUBERNETES } from './kubernetes.ts'
import { MCP_SERVER } from './mcp-server.ts'
import { OPA_SERVER } from './opa-server.ts'
import { POSTGRES } from './postgres.ts'
import { REDIS_DATA } from './redis-data.ts'
import { REDIS_SIGNALS } from './redis-signals.ts'

export const TABLES: readonly Table[] = [
  POSTGRES,
  REDIS_DATA,
  REDIS_SIGNALS,
  KAFKA,
  IDENTITY_PROVIDER,
  CONTROL_PLANE,
  OPA_SERVER,
  KUBERNETES,
  BACKEND,
  MCP_SERVER,
  DISK,
]
