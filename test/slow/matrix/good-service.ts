import { serviceCalls } from '../../support/command-lines.ts'
import { type FaultServer, json, startFaultServer } from '../../support/fault-server.ts'

/** A service that behaves as the interface documents, and has everything that a call asks for. */
export function startGoodService(): Promise<FaultServer> {
  return startFaultServer({
    choose: ({ method, path }) => {
      const asked = `${method} ${path.split('?')[0]}`
      return json(200, serviceCalls.find(({ endpoint }) => endpoint === asked)?.answer ?? {})
    },
  })
}
