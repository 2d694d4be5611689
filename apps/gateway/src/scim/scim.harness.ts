import { scimSchemas } from '@muster/contracts';
import { type HttpClient, type Tenant } from '@muster/testing';

export const usersPath = '/api/scim/v2/Users';
export const groupsPath = '/api/scim/v2/Groups';

/** Creates the token of an organization and returns an identity provider that uses it. */
export async function startProvider(http: HttpClient, tenant: Tenant): Promise<HttpClient> {
  const { status, body } = await tenant.as.admin.post('/api/organization/scim-token');
  if (status !== 201) throw new Error(`the token was answered ${status}`);
  return makeClient(http, body.token as string);
}

export function makeClient(http: HttpClient, token: string): HttpClient {
  return http.with({ authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' });
}

export function toPatch(...Operations: object[]): object {
  return { schemas: [scimSchemas.patch], Operations };
}

/** The body that Okta sends for a new user. */
export function makeOktaUser(userName: string, more: object = {}): object {
  return {
    schemas: [scimSchemas.user],
    userName,
    name: { givenName: 'Dana', familyName: 'Reyes' },
    emails: [{ primary: true, value: userName, type: 'work' }],
    displayName: 'Dana Reyes',
    locale: 'en-US',
    externalId: '00ujl29u0le5T6Aj10h7',
    groups: [],
    password: '1mz050nq',
    active: true,
    ...more,
  };
}

/** The body that Entra sends for a new user. */
export function makeEntraUser(userName: string): object {
  return {
    schemas: [scimSchemas.user, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'],
    externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
    userName,
    active: true,
    emails: [{ primary: true, type: 'work', value: userName }],
    meta: { resourceType: 'User' },
    name: { formatted: 'Sam Okafor', familyName: 'Okafor', givenName: 'Sam' },
    roles: [],
    'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'Billing' },
  };
}
