import type { Settings } from '../../src/contract/settings.ts'
import { type Behaviour, type FaultServer, json, startFaultServer } from '../support/fault-server.ts'
import { lay, someSettings } from './any-settings.ts'

/** How a service treats what it is sent. */
export interface Manners {
  /** What it has after a PATCH; the patch laid over what it had, unless given. */
  patched?: (before: Settings, patch: object) => Settings
  /** How it answers a PATCH. */
  answer?: Behaviour
  /** How many readings after a PATCH still find what was there before. */
  lag?: number
  /** How it answers a reading: the settings unless this gives something for the number of it, from 0. */
  read?: (index: number) => Behaviour | undefined
  /** What it has after a POST of the API configuration. */
  posted?: (before: Settings) => Settings
  answerPost?: Behaviour
}

export interface SettingsServer extends FaultServer {
  settings: () => Settings
  /** `PATCH {"a":1}`, `GET` and so on, as they came. */
  seen: () => string[]
}

/** A service that has settings, some of which it may not treat as it should. */
export async function startSettingsServer(
  manners: Manners = {},
  first: Settings = someSettings,
): Promise<SettingsServer> {
  let settings = first
  let stale = first
  let lag = 0
  let reads = 0
  const server = await startFaultServer((request, response, incoming) => {
    if (request.method === 'GET') {
      const shown = lag > 0 ? stale : settings
      lag--
      const behaviour = manners.read?.(reads++) ?? json(200, shown)
      return behaviour(request, response, incoming)
    }
    if (request.method === 'POST') {
      settings = manners.posted?.(settings) ?? settings
      return (manners.answerPost ?? json(200, {}))(request, response, incoming)
    }
    stale = settings
    lag = manners.lag ?? 0
    settings = (manners.patched ?? lay)(settings, JSON.parse(request.body))
    return (manners.answer ?? json(200, settings))(request, response, incoming)
  })
  return Object.assign(server, {
    settings: () => settings,
    seen: () => server.requests.map(({ method, body }) => `${method} ${body}`.trim()),
  })
}
