import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { TranscriptWriter } from '../../src/chat/transcript/transcript-writer.ts'
import { systemClock } from '../../src/system/clock.ts'
import { Directories } from '../../src/system/files/directories.ts'
import { plantCallTeller } from '../support/completing-shell.ts'
import { perSuite } from '../support/lifetime.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'
import { json, startScriptedServer } from '../support/scripted-server.ts'
import { Tmux } from './tmux.ts'

/** A model ID that each shell has to quote differently. */
const odd = `big model:$(id);&{a,b}*?#~=ls'x`

interface Trial {
  what: string
  /** Typed before Tab. */
  typed: string
  /** Typed after what was completed. */
  further?: string
  /** The arguments that the program receives. */
  words: readonly string[]
}

const trials: readonly Trial[] = [
  { what: 'a command', typed: 'docto', words: ['doctor'] },
  { what: 'a command of a topic', typed: 'chat sen', words: ['chat', 'send'] },
  {
    what: 'a flag, with a space after it',
    typed: 'chat send --mod',
    further: 'x',
    words: ['chat', 'send', '--model', 'x'],
  },
  { what: 'a value after =', typed: 'chat models --output=ya', words: ['chat', 'models', '--output=yaml'] },
  { what: 'a profile', typed: 'auth use wor', words: ['auth', 'use', 'work'] },
  {
    what: 'a key, with no space after =',
    typed: 'settings set features.cha',
    further: 'on',
    words: ['settings', 'set', 'features.chat=on'],
  },
  {
    what: 'the value of a key',
    typed: 'settings set theme.mode=da',
    words: ['settings', 'set', 'theme.mode=dark'],
  },
  {
    what: 'a field after a comma',
    typed: 'chat models --fields id,cre',
    words: ['chat', 'models', '--fields', 'id,created'],
  },
  {
    what: 'a model that must be quoted',
    typed: 'chat send Hi -p work --model big',
    words: ['chat', 'send', 'Hi', '-p', 'work', '--model', odd],
  },
  {
    what: 'a model within an open double quote',
    typed: 'chat send Hi -p work --model "big',
    words: ['chat', 'send', 'Hi', '-p', 'work', '--model', odd],
  },
  {
    what: 'a model within an open single quote',
    typed: "chat send Hi -p work --model 'big",
    words: ['chat', 'send', 'Hi', '-p', 'work', '--model', odd],
  },
  {
    what: 'a model after an escaped space and a colon',
    typed: 'chat send Hi -p work --model big\\ model:',
    words: ['chat', 'send', 'Hi', '-p', 'work', '--model', odd],
  },
  { what: 'a file', typed: 'users import peo', words: ['users', 'import', 'people.csv'] },
  {
    what: 'a file after =',
    typed: 'users import people.csv --results=peo',
    words: ['users', 'import', 'people.csv', '--results=people.csv'],
  },
  {
    what: 'a directory',
    typed: 'service status --data dir',
    words: ['service', 'status', '--data', 'directory'],
  },
  {
    what: 'a session by a word of its name',
    typed: 'chat show baikal',
    words: ['chat', 'show', 'How deep is Lake Baikal?'],
  },
  { what: 'nothing if no values are known', typed: 'users get peo', words: ['users', 'get', 'peo'] },
]

const prompt = 'READY>'

/** How each shell is started without a user configuration, and the command that loads the completion. */
const shells: Record<string, { command: string[]; load: string; env?: NodeJS.ProcessEnv }> = {
  bash: {
    command: ['bash', '--norc', '--noprofile', '-i'],
    load: 'source <(chatctl autocomplete bash)',
    env: { PS1: prompt },
  },
  zsh: { command: ['zsh', '-f', '-i'], load: 'source <(chatctl autocomplete zsh)', env: { PS1: prompt } },
  'zsh, with a file in $fpath': {
    command: ['zsh', '-f', '-i'],
    load: 'fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u',
    env: { PS1: prompt },
  },
  fish: {
    command: ['fish', '--no-config', '-i', '-C', `function fish_prompt; echo -n '${prompt}'; end`],
    load: 'chatctl autocomplete fish | source',
  },
}

describe('completion in a real shell', () => {
  const sandbox = perSuite(() => createSandbox({ ownCache: true }))
  const server = perSuite(() => startScriptedServer(json(200, { data: [{ id: odd }, { id: 'small' }] })))
  let env: NodeJS.ProcessEnv
  let id: string

  function plant(text: string, reply: string): string {
    const { sessions } = new Directories(sandbox.env)
    const writer = TranscriptWriter.create(sessions, { profile: 'local', baseUrl: null }, systemClock)
    writer.append({ type: 'user', turn: 1, at: '2026-01-02T03:04:05Z', text })
    writer.append({ type: 'delta', turn: 1, text: reply })
    writer.close()
    return writer.id
  }

  before(async () => {
    env = { ...plantCallTeller(sandbox), CHATCTL_API_KEY: 'key' }
    const directory = join(sandbox.home, '.config', 'chatctl')
    mkdirSync(directory, { recursive: true })
    const profiles = { work: { base_url: server.url } }
    writeFileSync(join(directory, 'config.json'), JSON.stringify({ profiles }))
    writeFileSync(join(sandbox.home, 'people.csv'), 'email\n')
    mkdirSync(join(sandbox.home, 'directory'))
    mkdirSync(join(sandbox.home, 'functions'))
    id = plant('Ships', 'A frigate is one.')
    plant('How deep is Lake Baikal?', 'About 1,642 m.')
    const { stdout } = await runProgram(sandbox, ['autocomplete', 'zsh'])
    writeFileSync(join(sandbox.home, 'functions', '_chatctl'), stdout)
  })

  for (const [name, shell] of Object.entries(shells)) {
    describe(name, () => {
      let terminal: Tmux
      before(async () => {
        const own = { ...env, ...shell.env } as Record<string, string>
        terminal = await Tmux.run(sandbox, shell.command, { env: own, columns: 120, rows: 40 })
        await terminal.waitFor(prompt)
        await terminal.say(shell.load)
        await terminal.say('echo lo""aded')
        await terminal.waitFor('loaded')
      })
      after(() => terminal.close())
      beforeEach(async () => {
        await terminal.say('clear')
        await terminal.waitUntil((screen) => screen.trim() === prompt)
      })

      for (const { what, typed, further = '', words } of trials) {
        it(`completes ${what}`, async () => {
          await terminal.type(`chatctl ${typed}`)
          await terminal.key('Tab')
          await terminal.say(further)
          const called = words.map((word) => `<${word}>`).join('')
          const screen = await terminal.waitFor(/^<.*>$/m)
          // zsh removes the slash after a directory again.
          expect(screen.replaceAll('/>', '>')).to.contain(called)
        })
      }

      it('completes a session by a word of a reply', async () => {
        await terminal.type('chatctl chat show frigate')
        await terminal.key('Tab')
        await terminal.key('Enter')
        await terminal.waitFor(`<chat><show><${id}>`)
      })

      it('lists the candidates if there are several', async () => {
        await terminal.type('chatctl chat s')
        await terminal.key('Tab', 'Tab')
        const screen = await terminal.waitFor('sessions')
        for (const word of ['send', 'sessions', 'show']) expect(screen).to.contain(word)
        if (name !== 'bash') expect(screen).to.contain('List the chat sessions')
        await terminal.key('C-c')
      })
    })
  }
})
