import { readVerifiedEmail } from './verified-email';

const okta = 'https://acme.okta.com';
const entra = 'https://login.microsoftonline.com/0199f0c5-7b8e-7d3a-9c55-2f4a6b8c0d1e/v2.0';
const email = 'Dana@Acme.com';

describe('readVerifiedEmail', () => {
  it.each([
    [okta, { email, email_verified: true }],
    [okta, { email, email_verified: 'true' }],
    [entra, { email, xms_edov: true }],
    [entra, { email, xms_edov: '1' }],
  ])('an address that %s has verified is returned in lower case: %j', (issuer, claims) => {
    expect(readVerifiedEmail(claims, issuer)).toBe('dana@acme.com');
  });

  it.each([
    [okta, { email }],
    [okta, { email, email_verified: 'false' }],
    [okta, { email, email_verified: 0 }],
    [okta, { email, email_verified: {} }],
    [okta, { email, xms_edov: true }],
    ['https://login.microsoftonline.com.evil.test/', { email, xms_edov: true }],
    [entra, { email, email_verified: false, xms_edov: true }],
    [entra, { email, xms_edov: false }],
    [okta, { email_verified: true }],
    [okta, { email: ['dana@acme.com'], email_verified: true }],
    [okta, { email: 'dana@evil.test@acme.com', email_verified: true }],
    [okta, { email: 'dana @acme.com', email_verified: true }],
  ])('an address that %s has not verified, or that is not an address, is refused: %j', (issuer, claims) => {
    expect(() => readVerifiedEmail(claims, issuer)).toThrow(/^the provider/);
  });
});
