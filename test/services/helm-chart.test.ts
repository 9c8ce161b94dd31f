/** The chart of both planes, rendered for each set of values: an API server accepts its built-in objects under Pod Security `restricted` without a warning. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { inspectSettings } from '../../src/app/settings.ts'
import { KUBE_INSTALLED, Kube, type KubeManifest } from './kube/kube.ts'

const ROOT = join(import.meta.dirname, '../..')
const HELM = join(ROOT, '.tools/bin/helm')
const CHART = join(ROOT, 'deploy/helm/toolgate')
const VALUES = join(ROOT, 'deploy/helm/values')
const NAMESPACE = 'toolgate-chart'
const SETS = readdirSync(VALUES).map(name => name.replace('.yaml', ''))

/** Their definitions come with other products. */
const DEFINED_ELSEWHERE = new Set(['PodMonitor', 'HTTPRoute'])
const PLURALS: Readonly<Record<string, string>> = { NetworkPolicy: 'networkpolicies', Ingress: 'ingresses' }

const required = process.env.REQUIRE_SERVICES === '1'
const KUBECTL = spawnSync('kubectl', ['version', '--client']).status === 0
const isInstalled = KUBE_INSTALLED && existsSync(HELM)

/** @param options of `helm template`; a failure throws with its message */
function render(set: string, ...options: string[]): KubeManifest[] {
  // a helm built without the flags of a release assumes an old cluster
  const version = ['--kube-version', '1.34.1']
  const args = [
    'template',
    'edge',
    CHART,
    ...version,
    '--namespace',
    NAMESPACE,
    '--values',
    join(VALUES, `${set}.yaml`),
  ]
  const text = execFileSync(HELM, [...args, ...options], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return parseAllDocuments(text)
    .map(document => (document as { toJS(): KubeManifest | null }).toJS())
    .filter(object => object !== null)
}

const rendered = new Map<string, KubeManifest[]>()
/** Rendered once. */
function objectsOf(set: string): KubeManifest[] {
  const objects = rendered.get(set) ?? render(set)
  rendered.set(set, objects)
  return objects
}

const kinds = (objects: readonly KubeManifest[]) =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()

interface PodTemplate {
  readonly spec: {
    readonly template: { readonly metadata: object; readonly spec: { readonly containers: Container[] } }
  }
}
interface Container {
  readonly env: readonly { readonly name: string; readonly value?: string }[]
  readonly securityContext: object
}
const podOf = (objects: readonly KubeManifest[], name: string) =>
  (
    objects.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === name,
    ) as unknown as PodTemplate
  ).spec.template
const settingsOf = (objects: readonly KubeManifest[], name: string) =>
  Object.fromEntries(podOf(objects, name).spec.containers[0]!.env.map(one => [one.name, one.value]))

describe.skipIf(!isInstalled && !required)(
  'the chart (bring it: scripts/services.sh kubernetes helm)',
  () => {
    it('passes the check of helm', () => {
      const text = execFileSync(HELM, ['lint', CHART, '--values', join(VALUES, 'small.yaml')], {
        encoding: 'utf8',
      })
      expect(text).toContain('0 chart(s) failed')
    })

    it.each([
      [['--set', 'issuer='], /issuer is required/],
      [['--set', 'gatewayUrl='], /gatewayUrl is required/],
      [['--set', 'controlPlane.replicas=2'], /above 1 needs PostgreSQL/],
      [['--set', 'toolSets.source=configMap'], /toolSets\.configMap names/],
      [['--set', 'controlPlane.mail.url=smtp://mail.example.com'], /controlPlane\.mail\.from is required/],
      [['--set', 'controlPlane.ingress.enabled=true'], /apiUrl is required/],
      [['--set', 'bindings.enabled=true'], /bindings\.clientSecret names/],
    ])('refuses %s with the fix', (options, message) => {
      expect(() => render('small', ...options)).toThrow(message)
    })

    it('renders what each set of values asks for', () => {
      const [small, large, gatewayOnly] = ['small', 'large', 'gateway-only'].map(set => kinds(objectsOf(set)))
      expect(small).toEqual(
        expect.arrayContaining([
          'Deployment edge-toolgate-control-plane',
          'Deployment edge-toolgate-gateway',
        ]),
      )
      expect(small!.filter(name => /^(Ingress|PodMonitor|HTTPRoute)/.test(name))).toEqual([])
      expect(large).toEqual(
        expect.arrayContaining(['Ingress edge-toolgate-gateway', 'PodMonitor edge-toolgate-control-plane']),
      )
      expect(gatewayOnly).toContain('HTTPRoute edge-toolgate-gateway')
      expect(gatewayOnly!.filter(name => /control-plane|HorizontalPod|ClusterRole/.test(name))).toEqual([])
    })

    it('passes secrets as files, and settings of the values before those of the chart', () => {
      const objects = render('large', '--set', 'gateway.settings.SHUTDOWN_DELAY=15s')
      const gateway = settingsOf(objects, 'edge-toolgate-gateway')
      expect(gateway).toMatchObject({
        ROLE: 'gateway',
        CONTROL_PLANE_URL: `http://edge-toolgate-control-plane.${NAMESPACE}.svc:80`,
        ALLOW_INSECURE: 'CONTROL_PLANE_URL',
        GATEWAY_CLIENT_SECRET_FILE: '/run/secrets/toolgate/GATEWAY_CLIENT_SECRET',
        SHUTDOWN_DELAY: '15s',
      })
      expect(settingsOf(objectsOf('gateway-only'), 'edge-toolgate-gateway').ALLOW_INSECURE).toBeUndefined()
      expect(settingsOf(objects, 'edge-toolgate-control-plane')).toMatchObject({
        ROLE: 'control-plane',
        SHUTDOWN_DELAY: '10s',
        DATABASE_URL_FILE: '/run/secrets/toolgate/DATABASE_URL',
        SMTP_URL: 'smtp://mail.example.com',
        SMTP_FROM: 'gateway@example.com',
        SMTP_PASSWORD_FILE: '/run/secrets/toolgate/SMTP_PASSWORD',
      })
    })

    it('calls planes that serve TLS over TLS', () => {
      const secret = (name: string) => ['--set', `${name}.name=tls,${name}.key=tls.crt`]
      const tls = [...secret('controlPlane.secrets.API_CERT'), ...secret('gateway.secrets.GATEWAY_CERT')]
      const objects = render('small', ...tls)
      const gateway = settingsOf(objects, 'edge-toolgate-gateway')
      expect(gateway.CONTROL_PLANE_URL).toBe(`https://edge-toolgate-control-plane.${NAMESPACE}.svc:80`)
      expect(gateway.ALLOW_INSECURE).toBeUndefined()
      for (const plane of ['gateway', 'control-plane'])
        expect(JSON.stringify(podOf(objects, `edge-toolgate-${plane}`).spec.containers[0])).not.toContain(
          '"scheme":"HTTP"',
        )
    })

    it('sets only names that are settings', () => {
      const page = readFileSync(join(ROOT, 'docs/reference/settings.md'), 'utf8')
      const names = SETS.flatMap(set =>
        objectsOf(set)
          .filter(({ kind, metadata }) => kind === 'Deployment' && !metadata.name.endsWith('-bindings'))
          .flatMap(one => Object.keys(settingsOf([one], one.metadata.name))),
      )
      expect([...new Set(names)].filter(name => !page.includes(`\`${name.replace(/_FILE$/, '')}\``))).toEqual(
        [],
      )
    })

    it.each(SETS)('%s starts with the settings of the image: no fault', set => {
      for (const { kind, metadata } of objectsOf(set)) {
        // a command, not a role: it reads its own settings
        if (kind !== 'Deployment' || metadata.name.endsWith('-bindings')) continue
        const env = Object.entries(settingsOf(objectsOf(set), metadata.name)).map(([name, value]) => {
          if (!name.endsWith('_FILE')) return [name, value ?? 'name']
          const secret = {
            DATABASE_URL: 'postgres://db/toolgate?sslmode=verify-full',
            REDIS_URL: 'rediss://redis',
          }[name.slice(0, -5)]
          return [name.slice(0, -5), secret ?? 'a-secret-of-at-least-32-characters']
        })
        const image = {
          NODE_ENV: 'production',
          GATEWAY_HOST: '0.0.0.0',
          API_HOST: '0.0.0.0',
          DATA_DIR: '/data',
        }
        // instead of the service account of a pod
        const pod = { KUBECONFIG: import.meta.filename }
        expect(inspectSettings({ ...image, ...pod, ...Object.fromEntries(env) }).faults).toEqual([])
      }
    })

    describe('at a real API server', () => {
      const kube = new Kube()
      beforeAll(async () => {
        await kube.start()
        const labels = Object.fromEntries(
          ['enforce', 'warn', 'audit'].map(mode => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
        )
        await kube.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } })
      }, 180_000)
      afterAll(() => kube.stop())

      const dryRun = ({ apiVersion, kind, metadata, ...rest }: KubeManifest) => {
        const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
        const namespace = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`
        const path = `${base}${namespace}/${PLURALS[kind] ?? `${kind.toLowerCase()}s`}/${metadata.name}`
        const query = 'dryRun=All&fieldManager=test&fieldValidation=Strict'
        return kube.request('PATCH', `${path}?${query}`, { body: { apiVersion, kind, metadata, ...rest } })
      }
      const pod = (name: string, spec: object) =>
        dryRun({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: NAMESPACE }, spec })

      it.each(SETS)('%s is accepted without a warning, its pods included', async set => {
        const objects = objectsOf(set).filter(({ kind }) => !DEFINED_ELSEWHERE.has(kind))
        expect(objects.length).toBeGreaterThan(4)
        for (const object of objects) {
          const { status, text, warnings } = await dryRun(object)
          const name = `${object.kind} ${object.metadata.name}`
          expect([name, status < 300 ? 'accepted' : text, warnings]).toEqual([name, 'accepted', undefined])
          if (object.kind !== 'Deployment') continue
          const { spec } = podOf([object], object.metadata.name)
          const response = await pod('one', spec)
          expect([response.status < 300 ? 'accepted' : response.text, response.warnings]).toEqual([
            'accepted',
            undefined,
          ])
        }
      })

      it.skipIf(!KUBECTL)('the commands of docs/install.md install it', async () => {
        const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')
        const block = /```sh\n(kubectl create namespace[^`]*)```/.exec(page)![1]!
        // the fixture has the namespace toolgate already
        const text = block.replace(/ toolgate(?=\s)/g, ' fresh')
        const [, definitions] = /`(kubectl apply -f [^`]*)`/.exec(page)!
        const env = {
          ...process.env,
          KUBECONFIG: kube.adminKubeconfig(),
          PATH: `${dirname(HELM)}:${process.env.PATH}`,
        }
        const said = execFileSync('bash', ['-euc', `${definitions}\n${text}`], {
          cwd: ROOT,
          env,
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'pipe'],
        })
        expect(said).toMatch(/STATUS: deployed/)
        expect(await kube.get('Deployment', 'fresh-toolgate-gateway', 'fresh', 'apps/v1')).toBeDefined()
      })

      it('a pod with more rights is rejected', async () => {
        const { spec } = podOf(objectsOf('small'), 'edge-toolgate-gateway')
        const [container] = spec.containers
        const privileged = { ...container, securityContext: { allowPrivilegeEscalation: true } }
        const { status, text } = await pod('privileged', { ...spec, containers: [privileged] })
        expect([status, JSON.parse(text).message]).toEqual([
          403,
          expect.stringMatching(/violates PodSecurity "restricted/),
        ])
      })
    })
  },
)
