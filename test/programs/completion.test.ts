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
import { describeSample } from '../support/take-sample.ts'
import { Tmux } from './tmux.ts'

/** A model ID that each shell has to quote differently. */
const odd = `big model:$(id);&{a,b}*?#~=ls'x`

/** `typed` is typed before Tab, and `further` after what was completed. The program receives the words. */
type Trial = [what: string, typed: string, words: string | readonly string[], further?: string]

const trials: readonly Trial[] = [
  ['a command', 'docto', 'doctor'],
  ['a command of a topic', 'chat sen', 'chat send'],
  ['a flag, with a space after it', 'chat send --mod', 'chat send --model x', 'x'],
  ['a value after =', 'chat models --output=ya', 'chat models --output=yaml'],
  ['a profile', 'auth use wor', 'auth use work'],
  ['a key, with no space after =', 'settings set features.cha', 'settings set features.chat=on', 'on'],
  ['the value of a key', 'settings set theme.mode=da', 'settings set theme.mode=dark'],
  ['a field after a comma', 'chat models --fields id,cre', 'chat models --fields id,created'],
  [
    'a model that must be quoted',
    'chat send Hi -p work --model big',
    ['chat', 'send', 'Hi', '-p', 'work', '--model', odd],
  ],
  [
    'a model within an open double quote',
    'chat send Hi -p work --model "big',
    ['chat', 'send', 'Hi', '-p', 'work', '--model', odd],
  ],
  [
    'a model within an open single quote',
    "chat send Hi -p work --model 'big",
    ['chat', 'send', 'Hi', '-p', 'work', '--model', odd],
  ],
  [
    'a model after an escaped space and a colon',
    'chat send Hi -p work --model big\\ model:',
    ['chat', 'send', 'Hi', '-p', 'work', '--model', odd],
  ],
  ['a file', 'users import peo', 'users import people.csv'],
  ['a file after =', 'users import people.csv --results=peo', 'users import people.csv --results=people.csv'],
  ['a directory', 'service status --data dir', 'service status --data directory'],
  ['a session by a word of its name', 'chat show baikal', ['chat', 'show', 'How deep is Lake Baikal?']],
  ['nothing if no values are known', 'users get peo', 'users get peo'],
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

describeSample('completion in a real shell', 6, () => {
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

      for (const [what, typed, words, further = ''] of trials) {
        it(`completes ${what}`, async () => {
          await terminal.type(`chatctl ${typed}`)
          await terminal.key('Tab')
          await terminal.say(further)
          const called = (typeof words === 'string' ? words.split(' ') : words)
            .map((word) => `<${word}>`)
            .join('')
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
