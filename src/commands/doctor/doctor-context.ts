import type { Context } from '../../cli/context/context.ts'
import type { Client } from '../../client/client.ts'
import type { ClientEvent } from '../../client/client-event.ts'
import type { NetworkReport } from '../../client/network/probe-network.ts'
import type { ReportedQuota } from '../../client/response/rate-limit-headers.ts'
import type { UnfinishedImport } from '../../users/journal/unfinished-imports.ts'

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
