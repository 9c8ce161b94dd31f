/** Which deployments get the warning that a control plane has no metrics, and which do not. */
import { expect, it } from 'vitest'
import { missingMetrics } from '../../../../src/app/main/metering.ts'
import { readSettings } from '../../../fixtures/settings.ts'

const LINK = {
  ROLE: 'gateway',
  CONTROL_PLANE_URL: 'http://localhost:8081',
  GATEWAY_CLIENT_ID: 'gateway',
  GATEWAY_CLIENT_SECRET: 'secret',
  AUTH_ISSUER: 'http://localhost:8180/realms/dev',
  GATEWAY_NAME: 'edge-1',
}
const BROKERS = { METERING_ENABLED: 'true', KAFKA_BROKERS: 'localhost:9092' }
const CONTROL = { ROLE: 'control-plane', AUTH_ISSUER: LINK.AUTH_ISSUER }

it.each([
  ['a gateway apart from its control plane', LINK],
  ['a control plane apart from its gateways', CONTROL],
  ['brokers that are named and not used', { ...LINK, KAFKA_BROKERS: BROKERS.KAFKA_BROKERS }],
])('%s: the settings that fix it are named', (_, env) => {
  expect(missingMetrics(readSettings(env))).toMatch(/no metrics.*METERING_ENABLED=true and KAFKA_BROKERS/)
})

it.each([
  ['everything in one process', {}],
  ['a gateway with brokers', { ...LINK, ...BROKERS }],
  ['a control plane with brokers', { ...CONTROL, ...BROKERS }],
])('%s: nothing is missing', (_, env) => {
  expect(missingMetrics(readSettings(env))).toBeUndefined()
})
