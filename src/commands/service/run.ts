import { once } from 'node:events'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../cli/base-command.ts'
import type { Context } from '../../cli/context/context.ts'
import { isInterruptedBy } from '../../cli/context/interruption.ts'
import { localWork } from '../../cli/documented-requests.ts'
import {
  durationFlag,
  fileSizeFlag,
  integerFlag,
  portFlag,
  textFlag,
  textListFlag,
} from '../../cli/flags/flag-types.ts'
import type { Output } from '../../cli/output/output.ts'
import type { ModelServerChoice } from '../../config/resolve-model-server.ts'
import { formatDuration } from '../../config/units.ts'
import { Failure } from '../../contract/failure.ts'
import { describeModelServer } from '../../contract/model-server-address.ts'
import { serviceUrlView } from '../../view/service.ts'
import { dataFlags } from './service-command.ts'

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

/** How long, in ms, stopping may take after the drain: a slow database must still store what has arrived. */
const grace = 2_000

/** How long, in ms, a proxy has to notice that `/readyz` is 503 before connections are refused. */
const proxyNotice = 3_000

export default class ServiceRun extends BaseCommand {
  static override summary = 'Run the embedded service in the foreground'
  static override description =
    'Prints the URL on stdout when the service is ready. Log lines go to stderr: as text if stderr is a terminal and --log-level is not given, and as JSON otherwise. With a JSON log, the line on stdout is JSON too, unless --output or --fields is given. After Ctrl-C or SIGTERM, replies in progress have 30 seconds to finish (--drain). Outside of a terminal, SIGHUP makes it read its certificate, TLS key, model server key, and the file of the database URL again. To create an API key, run: chatctl service keys create NAME'
  static override requests = { ...localWork, effect: 'changes this machine' as const }
  static override view = serviceUrlView
  static override examples = BaseCommand.toExamples({
    'Run on the default port': 'chatctl service run',
    'Use local models from Ollama': 'chatctl service run --model-server ollama',
    'Use an OpenAI-compatible server':
      'chatctl service run --model-server https://models.example/v1 --model-server-key-file key.txt',
    'Serve HTTPS': 'chatctl service run --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem',
    'Run behind a reverse proxy': 'chatctl service run --behind-proxy --public-url https://chat.example',
  })
  static override flags = {
    host: textFlag({ helpValue: 'ADDRESS', default: '127.0.0.1', summary: 'Address to listen on' }),
    port: integerFlag({
      helpValue: 'N',
      default: 8787,
      min: 0,
      max: 65_535,
      summary: 'Port to listen on; 0 for any free port',
    }),
    ...dataFlags,
    'model-server': textFlag({
      helpValue: 'URL',
      summary:
        'OpenAI-compatible model server: a URL, ollama, llama.cpp, lm-studio, or none (default: see config get model_server)',
    }),
    'model-server-key-file': textFlag({
      helpValue: 'FILE',
      summary: 'File that contains the API key for the model server',
    }),
    'tls-cert': textFlag({
      helpValue: 'FILE',
      summary: 'PEM certificate chain; enables HTTPS, with --tls-key',
      dependsOn: ['tls-key'],
    }),
    'tls-key': textFlag({
      helpValue: 'FILE',
      summary: 'PEM private key of the certificate',
      dependsOn: ['tls-cert'],
    }),
    'behind-proxy': Flags.boolean({
      summary: 'Trust the X-Forwarded headers of one reverse proxy that terminates TLS',
    }),
    'public-url': textFlag({
      helpValue: 'URL',
      summary: 'Public origin of the service (default: the listen address)',
    }),
    drain: durationFlag({
      helpValue: 'DURATION',
      summary: 'How long replies in progress may take to finish when the service stops (default: 30s)',
    }),
    migrate: Flags.boolean({
      summary: 'Migrate older data also while other processes use it; they then respond with 503',
    }),
    'device-admin': Flags.boolean({
      summary: 'Allow the scope admin for programs that sign in with auth login --device',
    }),
    openai: Flags.boolean({
      allowNo: true,
      default: true,
      summary: 'Serve OpenAI clients at /openai/v1 (--no-openai: do not)',
    }),
    'openai-field': textListFlag({
      helpValue: 'NAME',
      summary: 'Field that OpenAI clients may send, besides model, messages, and stream (default: all)',
    }),
    'openai-body-limit': fileSizeFlag({
      summary: 'Maximum size of a request of an OpenAI client, such as 8m; at most 64m (default: 32m)',
    }),
    'admin-port': portFlag({
      helpValue: 'PORT',
      summary: 'Loopback port of /metrics: a number, 0 (any free port), or off (default: --port plus 1000)',
    }),
    'log-level': Flags.option({
      helpValue: 'LEVEL',
      options: levels,
      summary:
        'Log level: trace, debug, info, warn, error, or silent (default: info, but warn in a terminal, and error with --quiet)',
    })(),
  }

  async run(): Promise<void> {
    const { flags, context } = await this.start(ServiceRun)
    const { output } = context
    const { drain = 30_000 } = flags
    const [unused] = ['openai-field', 'openai-body-limit'].filter((name) => name in flags)
    if (!flags.openai && unused)
      throw new Failure('usage', `--${unused} and --no-openai cannot be used together`)
    const database = context.administration.databaseOf(flags.database)
    const modelServer = chooseModelServer(context, flags['model-server'], flags['model-server-key-file'])
    // In a terminal, messages for people replace the log unless --log-level is given.
    const isForPeople = flags['log-level'] === undefined && context.streams.isWatched && !output.isJson
    const level = flags['log-level'] ?? (flags.quiet ? 'error' : isForPeople ? 'warn' : 'info')
    const service = await context.administration.startService({
      dataDir: flags.data,
      database,
      readDatabase: () => context.administration.databaseOf(flags.database),
      host: flags.host,
      port: flags.port,
      version: this.config.version,
      tls: tlsFiles(context, flags['tls-cert'], flags['tls-key']),
      behindProxy: flags['behind-proxy'],
      publicUrl: flags['public-url'],
      allowsDeviceAdmin: flags['device-admin'],
      servesOpenAi: flags.openai,
      openAiFields: flags['openai-field'],
      openAiBodyLimit: flags['openai-body-limit'],
      migratesAlways: flags.migrate,
      drain,
      admin: flags['admin-port'] === 'off' ? undefined : { port: flags['admin-port'] },
      log:
        level === 'silent'
          ? 'silent'
          : { level, tell: isForPeople ? tellOn(output) : undefined, stderr: context.host.log },
      modelServer,
    })
    context.host.allowGrace(proxyNotice + drain + grace)
    // With a terminal, SIGHUP means that it was closed.
    if (!Object.values(context.host.isTerminal).includes(true))
      context.host.takeSignal('SIGHUP', service.reload)
    try {
      if (isForPeople) output.notice(describe(service, { ...flags, database }, modelServer))
      const { url, publicUrl = null, adminUrl = null } = service
      const ready = { url, public_url: publicUrl, pid: process.pid, admin_url: adminUrl }
      // Log collectors read stdout and stderr together.
      const isChosen = flags.fields !== undefined || context.options.output.value !== undefined
      const isOfLog = level !== 'silent' && !isForPeople && !isChosen
      await (output.isJson || isOfLog ? output.showEvent(ready) : output.show(serviceUrlView, ready))
      if (!context.signal.aborted) await once(context.signal, 'abort')
      if (isForPeople)
        output.notice(
          `Stopping. Replies have ${formatDuration(drain)} to finish; a second Ctrl-C stops immediately.`,
        )
    } finally {
      const isRestart = flags['behind-proxy'] && isInterruptedBy('SIGTERM', context.signal.reason)
      await service.close(isRestart ? proxyNotice : 0)
    }
    // After Ctrl-C, SIGQUIT, or SIGTERM the exit code is 0. SIGHUP is not a request to stop, and a supervisor must see it.
    if (isInterruptedBy('SIGHUP', context.signal.reason)) throw context.signal.reason
  }
}

/** The message in a terminal, instead of a log. */
function describe(
  {
    url,
    publicUrl,
    adminUrl,
    dataDir,
    created,
  }: Awaited<ReturnType<Context['administration']['startService']>>,
  { data, database, openai }: { data: string | undefined; database: string | undefined; openai: boolean },
  { server, from }: ModelServerChoice,
): string {
  const lines = [`The service listens at ${url}. Press Ctrl-C to stop it.`]
  if (publicUrl !== undefined) lines.push(`Public URL: ${publicUrl}`)
  if (database === undefined) lines.push(`Data: ${dataDir}`)
  if (server) lines.push(`Model server: ${describeModelServer(server.url)}, from ${from}`)
  if (openai) lines.push(`OpenAI clients: ${publicUrl ?? url}/openai/v1`)
  if (adminUrl !== undefined) lines.push(`Metrics: ${adminUrl}/metrics`)
  if (created && data === undefined && database === undefined)
    lines.push('Create the first admin with: chatctl service admin create EMAIL')
  return lines.join('\n')
}

function tellOn(output: Output) {
  return (severity: 'warning' | 'error', text: string): void => {
    if (severity === 'error') output.streams.say(`Error: ${text}`)
    else void output.warn(text)
  }
}

/** oclif has checked that both are given, or neither. */
function tlsFiles({ resolvePath }: Context, certFile: string | undefined, keyFile: string | undefined) {
  if (certFile === undefined || keyFile === undefined) return undefined
  return { certFile: resolvePath(certFile), keyFile: resolvePath(keyFile) }
}

/** @throws Failure `usage` for a key without a model server; `config` for an invalid model server */
function chooseModelServer(context: Context, modelServer: string | undefined, keyFile: string | undefined) {
  const choice = context.embedded.modelServer({ modelServer, keyFile, name: '--model-server' })
  if (keyFile === undefined || choice.server) return choice
  throw new Failure('usage', '--model-server-key-file requires a model server', {
    hint: 'Add --model-server URL, or run: chatctl config set model_server=URL',
  })
}
