import { expect } from 'chai'
import { caller, onEachEngine } from '../temporary-service.ts'
import { Browser } from './browser.ts'
import { askForCode, createUser, exchange, getCode, getTokens, refresh } from './flow.ts'

onEachEngine('the code flow of the embedded service', (withService, _engine) => {
  it('issues tokens that act for the user', () =>
    withService(async (service) => {
      const id = await createUser(service)
      const request = askForCode(service.url)
      const parameters = await getCode(new Browser(), request)
      expect(parameters.get('state')).to.equal(request.state)
      expect(parameters.get('iss')).to.equal(service.url)
      const { status, body } = await exchange(service.url, parameters.get('code') ?? '', request.verifier)
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body).to.include({ token_type: 'Bearer', expires_in: 3600, scope: 'chat:write' })
      const profile = await caller(service.url, body.access_token)('GET', '/api/user/profile')
      expect(profile.body, profile.text).to.include({ id, email: 'ada@example.com' })
      const renewed = await refresh(service.url, body.refresh_token)
      expect(renewed.status).to.equal(200)
      const again = await caller(service.url, renewed.body.access_token)('GET', '/api/user/profile')
      expect(again.status).to.equal(200)
    }))

  it('keeps a browser signed in, and asks for consent each time', () =>
    withService(async (service) => {
      await createUser(service)
      const browser = new Browser()
      await getTokens(service.url, { browser })
      const page = await browser.open(askForCode(service.url).url)
      expect(page.text).to.include('You are signed in as <b>ada@example.com</b>')
    }))
})
