import { maxScimResults, scimSchemas } from '@muster/contracts';

interface Attribute {
  name: string;
  type?: 'string' | 'boolean' | 'complex' | 'reference';
  multiValued?: boolean;
  required?: boolean;
  mutability?: 'readWrite' | 'readOnly';
  uniqueness?: 'none' | 'server';
  subAttributes?: Attribute[];
}

/** Adds the characteristics that RFC 7643 requires of each attribute. */
function describeAttribute({ name, type = 'string', subAttributes, ...rest }: Attribute): Record<string, unknown> {
  return {
    name,
    type,
    multiValued: rest.multiValued ?? false,
    description: name,
    required: rest.required ?? false,
    caseExact: false,
    mutability: rest.mutability ?? 'readWrite',
    returned: 'default',
    uniqueness: rest.uniqueness ?? 'none',
    ...(subAttributes ? { subAttributes: subAttributes.map(describeAttribute) } : {}),
  };
}

const references: Attribute[] = [{ name: 'value' }, { name: 'display', mutability: 'readOnly' }];

const schemas = [
  {
    id: scimSchemas.user,
    name: 'User',
    attributes: [
      { name: 'userName', required: true, uniqueness: 'server' },
      {
        name: 'name',
        type: 'complex',
        subAttributes: [{ name: 'givenName' }, { name: 'familyName' }, { name: 'formatted', mutability: 'readOnly' }],
      },
      { name: 'displayName' },
      {
        name: 'emails',
        type: 'complex',
        multiValued: true,
        mutability: 'readOnly',
        subAttributes: [{ name: 'value' }, { name: 'type' }, { name: 'primary', type: 'boolean' }],
      },
      { name: 'active', type: 'boolean' },
      { name: 'groups', type: 'complex', multiValued: true, mutability: 'readOnly', subAttributes: references },
    ] satisfies Attribute[],
  },
  {
    id: scimSchemas.group,
    name: 'Group',
    attributes: [
      { name: 'displayName', required: true, uniqueness: 'server' },
      { name: 'members', type: 'complex', multiValued: true, subAttributes: references },
    ] satisfies Attribute[],
  },
];

export function listSchemas(base: string): Record<string, unknown>[] {
  return schemas.map(({ id, name, attributes }) => ({
    schemas: [scimSchemas.schema],
    id,
    name,
    description: name,
    attributes: attributes.map(describeAttribute),
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
  }));
}

export function listResourceTypes(base: string): Record<string, unknown>[] {
  return schemas.map(({ id, name }) => ({
    schemas: [scimSchemas.resourceType],
    id: name,
    name,
    endpoint: `/${name}s`,
    schema: id,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }));
}

export function describeService(base: string) {
  return {
    schemas: [scimSchemas.serviceProviderConfig],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: maxScimResults },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'SCIM token',
        description: 'Token of POST /api/organization/scim-token, sent as Authorization: Bearer',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}
