import { join } from 'node:path'
import type { ConversationStart } from '../../../src/chat/conversation-start.ts'
import { runSession } from '../../../src/chat/run-session.ts'
import type { SessionOptions } from '../../../src/chat/session-options.ts'
import { listTranscripts } from '../../../src/chat/transcript/list-transcripts.ts'
import { readTranscript } from '../../../src/chat/transcript/read-transcript.ts'
import type { Transcript } from '../../../src/chat/transcript/transcript.ts'
import type { TranscriptLine } from '../../../src/chat/transcript/transcript-line.ts'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { commandLine } from '../../../src/cli/command-line.ts'
import { describeFailure } from '../../../src/cli/errors/describe-failure.ts'
import { Client } from '../../../src/client/client.ts'
import { withSessionList } from '../../../src/commands/chat/choose-session.ts'
import type { Run } from '../../../src/run/run.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { type Served, serveHandler } from '../../support/scripted-server.ts'
import { ScreenTerminal } from './screen-terminal.ts'

/** A session that runs in this process, in a terminal that xterm.js renders. */
export interface SessionRun {
  terminal: ScreenTerminal
  /** Types a line, and waits until the expected text is shown. */
  say(line: string, shown: string | RegExp): Promise<string>
  /** Ends the session, and returns all lines that were shown. */
  leave(): Promise<string>
}

type Given = Partial<SessionOptions> & Partial<Pick<Run, 'clock' | 'directories'>>

/** A scripted service, and a directory for transcripts. */
export class SessionWorld {
  readonly server: Served<ChatHandler>
  readonly #sandbox: Sandbox
  readonly #runs: SessionRun[] = []

  private constructor(sandbox: Sandbox, server: Served<ChatHandler>) {
    this.#sandbox = sandbox
    this.server = server
  }

  static async open(): Promise<SessionWorld> {
    return new SessionWorld(createSandbox(), await serveHandler(new ChatHandler()))
  }

  get directory(): string {
    return new Directories(this.#sandbox.env).sessions
  }

  get home(): string {
    return this.#sandbox.home
  }

  get owner() {
    return { profile: undefined, baseUrl: this.server.url }
  }

  /** @param begin a new session by default */
  async run(
    begin: ConversationStart = { kind: 'new' },
    { clock = systemClock, directories = new Directories(this.#sandbox.env), ...given }: Given = {},
  ): Promise<SessionRun> {
    const terminal = new ScreenTerminal()
    const client = new Client({ baseUrl: this.server.url, credential: 'some-key', retries: 0 })
    const running = runSession({
      terminal,
      connect: async () => client,
      run: {
        ...{ clock, directories, env: this.#sandbox.env, cwd: this.home },
        signal: new AbortController().signal,
        contextOwner: () => this.owner,
        profileNameOf: (id: string) => id,
        knownUser: () => undefined,
        user: async () => undefined,
        commandFor: (...words: string[]) => commandLine(...words),
      } as Partial<Run> as Run,
      begin,
      fork: undefined,
      serviceName: 'the test service',
      aliases: {},
      model: undefined,
      message: undefined,
      system: undefined,
      isRecorded: true,
      firstModelReplies: false,
      isModelExplicit: false,
      streamFormat: undefined,
      isPlain: false,
      style: undefined,
      link: undefined,
      isQuiet: false,
      platform: process.platform,
      maxFileBytes: undefined,
      inputHistoryPath: join(this.home, 'recall.jsonl'),
      editorCommand: undefined,
      resumeCommand: (id) => `chatctl chat --resume ${id}`,
      rememberContext: async () => {},
      search: async () => ({ results: [], hasMore: false }),
      withSessionList: (open, work) =>
        withSessionList(
          new Directories(this.#sandbox.env),
          { owner: this.owner, isWanted: ({ id }) => id !== open },
          work,
        ),
      pickSession: async () => undefined,
      describeFailure,
      ...given,
    })
    let isOver = false
    const end = running.finally(() => {
      isOver = true
      return client.close()
    })
    end.catch(() => {})
    const run: SessionRun = {
      terminal,
      say: (line, shown) => {
        terminal.type(`${line}\r`)
        return terminal.waitFor(shown)
      },
      leave: async () => {
        if (!isOver) terminal.type('\u0015\u0004')
        await end
        return terminal.text()
      },
    }
    this.#runs.push(run)
    await Promise.race([end, terminal.waitFor(/^>$/m)])
    return run
  }

  /** Resumes the most recent session. */
  async resume(given: Given = {}): Promise<SessionRun> {
    return this.run({ kind: 'transcript', path: this.#lastPath() }, given)
  }

  /** The transcript of the most recent session. */
  transcript(): Transcript {
    return readTranscript(this.#lastPath())
  }

  /** Writes a transcript, as an earlier session would have done. */
  plant(lines: readonly TranscriptLine[]): string {
    const { profile = null, baseUrl } = this.owner
    const writer = TranscriptWriter.create(this.directory, { profile, baseUrl }, systemClock)
    for (const line of lines) writer.append(line)
    writer.close()
    return writer.path
  }

  #lastPath(): string {
    const [last] = listTranscripts(this.directory, this.owner)
    if (!last) throw new Error('there is no transcript')
    return last.path
  }

  async close(): Promise<void> {
    await Promise.all(this.#runs.map((run) => run.leave().catch(() => {})))
    await this.server.close()
    this.#sandbox.remove()
  }
}
