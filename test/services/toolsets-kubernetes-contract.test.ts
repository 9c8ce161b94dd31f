/** The contract of a source of tools on the Kubernetes source, against a real API server. */
import { afterAll, beforeAll, describe } from 'vitest'
import { sourceLife } from '../contract/toolsets/source-life.ts'
import { sourceTables } from '../contract/toolsets/source-tables.ts'
import { KUBE_INSTALLED, Kube } from './kube/kube.ts'
import { openCluster } from './kube/kube-world.ts'

const required = process.env.REQUIRE_SERVICES === '1'

describe.skipIf(!KUBE_INSTALLED && !required)('Kubernetes (bring it: scripts/services.sh kubernetes)', () => {
  const kube = new Kube()
  beforeAll(() => kube.start(), 180_000)
  afterAll(() => kube.stop())

  describe('tables', () => sourceTables(() => openCluster(kube)))
  describe('life', () => sourceLife(() => openCluster(kube)))
})
