import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { imageData, imageHealth } from '../../scripts/image/service-image.ts'
import { ownVariables } from '../../src/cli/help/environment-variables.ts'
import { packageFile, root } from '../scripts/package-file.ts'
import { commands } from '../support/manifest.ts'

interface Service {
  image: string
  command?: string
  environment?: Record<string, string>
  secrets?: string[]
  ports?: string[]
  volumes: string[]
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test: string[] }
}

interface Compose {
  services: Record<string, Service>
  secrets: Record<string, { file: string }>
  volumes: Record<string, unknown>
}

const guide = readFileSync(join(root, 'docs/guides/host-the-service.md'), 'utf8')
const [, text = ''] = /^```yaml\n(services:\n[\s\S]*?)^```/m.exec(guide) ?? []

describe('compose.yaml in the guide', () => {
  const compose: Compose = parse(text, { strict: true })
  const services = Object.values(compose.services)
  const { chat } = compose.services

  it('declares each volume and secret that a service uses, and each service that another one needs', () => {
    const mounted = services.flatMap(({ volumes }) => volumes.map((volume) => volume.split(':')[0]))
    expect(Object.keys(compose.volumes)).to.have.members(mounted)
    const used = services.flatMap(({ secrets = [] }) => secrets)
    expect(Object.keys(compose.secrets)).to.have.members(used)
    for (const { environment = {}, secrets = [] } of services)
      for (const path of Object.values(environment).filter((value) => value.startsWith('/run/secrets/')))
        expect(secrets).to.include(path.replace('/run/secrets/', ''))
    for (const name of Object.keys(chat?.depends_on ?? {}))
      expect(compose.services[name]).to.have.property('healthcheck')
  })

  it('uses the version, the data directory, the flags, and the variables of chatctl', () => {
    expect(chat?.image).to.equal(`ghcr.io/OWNER/chatctl:${packageFile.version}`)
    expect(chat?.volumes).to.deep.equal([`data:${imageData}`])
    const shown = Object.keys(chat?.environment ?? {}).filter((name) => !ownVariables.includes(name))
    expect(shown).to.deep.equal([])
    const [, , ...words] = chat?.command?.split(' ') ?? []
    const { flags = {} } = commands.find(({ id }) => id === 'service:run') ?? {}
    const named = words.filter((word) => word.startsWith('--')).map((word) => word.slice(2))
    expect(Object.keys(flags)).to.include.members(named)
    expect(named).to.include('behind-proxy')
  })

  it('has the health check of the image', () => expect(chat?.healthcheck?.test).to.deep.equal(imageHealth))

  it('publishes the port of the service only to this machine', () =>
    expect(services.flatMap(({ ports = [] }) => ports)).to.deep.equal(['127.0.0.1:8787:8787']))
})
