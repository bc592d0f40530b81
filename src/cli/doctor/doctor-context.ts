import type { UnfinishedImport } from '../../bulk/journal/unfinished-imports.ts'
import type { Client } from '../../client/client.ts'
import type { ClientEvent } from '../../client/client-event.ts'
import type { NetworkReport } from '../../client/probe-network.ts'
import type { ReportedQuota } from '../../client/rate-limit-headers.ts'
import type { Context } from '../context.ts'

/** What the checks need. */
export interface DoctorContext {
  context: Context
  env: NodeJS.ProcessEnv
  /** Of chatctl, and what it needs of Node.js, `22.19.0`. */
  version: { own: string; neededNode: string }
  /** Ms for one check, and for one attempt of a request. */
  bound: number
  /** @param observe receives the events of the client */
  connect(observe: (event: ClientEvent) => void): Promise<Client>
  probeNetwork(base: URL): Promise<NetworkReport>
  readQuota(headers: Record<string, string>): ReportedQuota
  findUnfinishedImports(): Promise<readonly UnfinishedImport[]>
}
