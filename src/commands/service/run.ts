import { once } from 'node:events'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/create-context.ts'
import { integerFlag, portFlag, textFlag } from '../../cli/flag-types.ts'
import { allowGrace, isEndedBy } from '../../cli/interruption.ts'
import type { Output } from '../../cli/output/output.ts'
import { isWatched, say } from '../../cli/output/streams.ts'
import { calls } from '../../cli/requests.ts'
import { databaseFlag, dataFlag } from '../../cli/service-flags.ts'
import { serviceUrlView } from '../../view/service.ts'

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

/**
 * How long, in ms, stopping may take: answers have 4 s to end, and what they came to must still be
 * stored where the database is slow. Docker kills after 10 s.
 */
const grace = 9_000

/** How long, in ms, a proxy has to notice that `/readyz` is 503 before connections are refused. */
const proxyNotice = 3_000

export default class ServiceRun extends BaseCommand {
  static override summary = 'Serve the embedded service in the foreground until it is stopped.'
  static override description =
    'Prints its URL on stdout when it is ready, logs JSON lines to stderr (on a terminal only warnings, in words, unless --log-level is said), and ends in good order on Ctrl-C or SIGTERM: running answers are finished first. Make a key with: chatctl service keys create'
  static override requests = { ...calls(), note: 'none; it answers them.' }
  static override view = serviceUrlView
  static override examples = [
    '<%= config.bin %> service run',
    '<%= config.bin %> service run --port 0 --json',
    '<%= config.bin %> service run --upstream ollama',
    '<%= config.bin %> service run --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem',
    '<%= config.bin %> service run --behind-proxy --public-url https://chat.example',
    '<%= config.bin %> service run --upstream https://models.example/v1 --upstream-key-file key.txt',
  ]
  static override flags = {
    host: textFlag({ helpValue: '<address>', default: '127.0.0.1', summary: 'Address to listen on.' }),
    port: integerFlag({
      helpValue: '<n>',
      default: 8787,
      min: 0,
      max: 65_535,
      summary: 'Port to listen on; 0 for any free one.',
    }),
    data: dataFlag,
    database: databaseFlag,
    upstream: textFlag({
      helpValue: '<url>',
      summary:
        'OpenAI-compatible server that answers, or one of ollama, llama.cpp, lm-studio; without it a small program inside does.',
    }),
    'upstream-key-file': textFlag({
      helpValue: '<file>',
      summary: 'File with the key for the upstream.',
      dependsOn: ['upstream'],
    }),
    'tls-cert': textFlag({
      helpValue: '<file>',
      summary: 'Certificate in PEM, its chain below it: the service speaks HTTPS.',
      dependsOn: ['tls-key'],
    }),
    'tls-key': textFlag({
      helpValue: '<file>',
      summary: 'Private key of the certificate, in PEM.',
      dependsOn: ['tls-cert'],
    }),
    'behind-proxy': Flags.boolean({
      summary: 'One proxy in front does TLS; believe its X-Forwarded headers.',
    }),
    'public-url': textFlag({
      helpValue: '<url>',
      summary: 'Origin that clients see, where it is not the address itself.',
    }),
    'admin-port': portFlag({
      helpValue: '<n>|off',
      summary: 'Loopback port of /metrics; 1000 above --port unless said.',
    }),
    'log-level': Flags.option({
      options: levels,
      summary: 'Least severe lines to log: info, or error with --quiet, unless said.',
    })(),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceRun)
    const { output } = context
    // Whoever wants the lines of a log says so, or has them written to a file.
    const isForPeople = flags['log-level'] === undefined && isWatched() && !output.isJson
    const level = flags['log-level'] ?? (flags.quiet ? 'error' : isForPeople ? 'warn' : 'info')
    const service = await context.startService({
      dataDir: flags.data,
      database: flags.database,
      host: flags.host,
      port: flags.port,
      version: this.config.version,
      tls: tlsFiles(flags['tls-cert'], flags['tls-key']),
      behindProxy: flags['behind-proxy'],
      publicUrl: flags['public-url'],
      admin: flags['admin-port'] === 'off' ? undefined : { port: flags['admin-port'] },
      log: level === 'silent' ? 'silent' : { level, tell: isForPeople ? tellOn(output) : undefined },
      ...(flags.upstream === undefined
        ? {}
        : { upstream: { url: flags.upstream, keyFile: flags['upstream-key-file'] } }),
    })
    allowGrace(grace)
    try {
      if (isForPeople) output.notice(describe(service, flags))
      const ready = { url: service.url, pid: process.pid, admin_url: service.adminUrl ?? null }
      await (output.isJson ? output.showEvent(ready) : output.show(serviceUrlView, ready))
      if (!context.signal.aborted) await once(context.signal, 'abort')
    } finally {
      const isRestart = flags['behind-proxy'] && isEndedBy('SIGTERM', context.signal.reason)
      await service.close(isRestart ? proxyNotice : 0)
    }
    // Ctrl-C and SIGTERM are orders to stop. A hangup is not: a supervisor must see that the service is gone.
    if (isEndedBy('SIGHUP', context.signal.reason)) throw context.signal.reason
  }
}

/** What a person at a terminal is told instead of a log. */
function describe(
  { url, adminUrl, dataDir, created }: Awaited<ReturnType<Context['startService']>>,
  { data, database }: { data: string | undefined; database: string | undefined },
): string {
  const lines = [`The service listens at ${url}; Ctrl-C stops it.`]
  if (database === undefined) lines.push(`Its data lies in ${dataDir}.`)
  if (adminUrl !== undefined) lines.push(`Its metrics are at ${adminUrl}/metrics.`)
  if (created && data === undefined && database === undefined)
    lines.push('The first admin is made with: chatctl service admin create EMAIL')
  return lines.join('\n')
}

function tellOn(output: Output) {
  return (severity: 'warning' | 'error', text: string): void => {
    if (severity === 'error') say(`Error: ${text}`)
    else void output.warn(text)
  }
}

/** oclif has seen to it that there are both or none. */
function tlsFiles(certFile: string | undefined, keyFile: string | undefined) {
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile }
}
