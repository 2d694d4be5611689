import { AnyJsonField, BooleanField, DateTimeField, IntField, JsonField, JsonListField, ListField } from '../fields';
import { ObjectField, QueryIntField, TextField, TextListField, UrlField } from '../fields';
import { IgnoreUnknownFields } from '../unknown-fields';

/** Schemas of SCIM 2.0 (RFC 7643 and RFC 7644). */
export const scimSchemas = {
  user: 'urn:ietf:params:scim:schemas:core:2.0:User',
  group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  serviceProviderConfig: 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig',
  resourceType: 'urn:ietf:params:scim:schemas:core:2.0:ResourceType',
  schema: 'urn:ietf:params:scim:schemas:core:2.0:Schema',
  list: 'urn:ietf:params:scim:api:messages:2.0:ListResponse',
  patch: 'urn:ietf:params:scim:api:messages:2.0:PatchOp',
  error: 'urn:ietf:params:scim:api:messages:2.0:Error',
} as const;

/** Maximum number of resources in one list response. */
export const maxScimResults = 200;
/** Maximum number of members that one request can add to a group or remove from it. */
export const maxScimMembers = 5000;

const activeDescription = 'Whether the user can sign in. The texts “true” and “false” are accepted too.';

export class ScimListQuery {
  @TextField({
    optional: true,
    max: 1000,
    example: 'userName eq "dana@acme.com"',
    description:
      'Returns only the resources that match: `attribute eq "value"`. Users: `userName`, `externalId`, `id`, ' +
      '`emails.value`. Groups: `displayName`, `externalId`, `id`, `members.value`.',
  })
  filter?: string;
  @QueryIntField({
    optional: true,
    min: -2_147_483_648,
    description: 'Position of the first resource, starting with 1, which is also the default.',
  })
  startIndex?: number;
  @QueryIntField({
    optional: true,
    min: -2_147_483_648,
    description: `Maximum number of resources; 100 by default, at most ${maxScimResults}.`,
  })
  count?: number;
  @TextField({ optional: true, max: 1000, description: 'Names of the attributes to return, separated by commas.' })
  attributes?: string;
  @TextField({
    optional: true,
    max: 1000,
    example: 'members',
    description: 'Names of the attributes to leave out, separated by commas.',
  })
  excludedAttributes?: string;
}

/** The attributes that the response contains. */
export class ScimReadQuery {
  @TextField({ optional: true, max: 1000, description: 'Names of the attributes to return, separated by commas.' })
  attributes?: string;
  @TextField({ optional: true, max: 1000, description: 'Names of the attributes to leave out, separated by commas.' })
  excludedAttributes?: string;
}

export class ScimMeta {
  @TextField({ example: 'User' }) resourceType!: string;
  @DateTimeField({ optional: true }) created?: string;
  @DateTimeField({ optional: true }) lastModified?: string;
  @UrlField({ example: 'https://muster.example.com/api/scim/v2/Users/0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' })
  location!: string;
}

export class ScimName {
  @TextField({ optional: true, nullable: true, example: 'Dana' }) givenName?: string | null;
  @TextField({ optional: true, nullable: true, example: 'Reyes' }) familyName?: string | null;
  @TextField({ optional: true, max: 401, example: 'Dana Reyes' }) formatted?: string;
}

export class ScimEmail {
  @TextField({ max: 254, example: 'dana@acme.com' }) value!: string;
  @TextField({ example: 'work' }) type!: string;
  @BooleanField({ example: true }) primary!: boolean;
}

/** A reference to a user or a group. */
export class ScimReference {
  @TextField({ example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' }) value!: string;
  @TextField({ max: 254, example: 'dana@acme.com' }) display!: string;
}

/** A user. `attributes` and `excludedAttributes` decide which attributes are present. */
export class ScimUser {
  @TextListField({ example: [scimSchemas.user] }) schemas!: string[];
  @TextField({ example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e', description: 'Id of the account.' }) id!: string;
  @TextField({ optional: true, example: '00u1a2b3c4' }) externalId?: string;
  @TextField({ optional: true, max: 254, example: 'dana@acme.com', description: 'Email address of the account.' })
  userName?: string;
  @ObjectField(() => ScimName, { optional: true }) name?: ScimName;
  @TextField({ optional: true, example: 'Dana Reyes' }) displayName?: string;
  @ListField(() => ScimEmail, { optional: true }) emails?: ScimEmail[];
  @BooleanField({ optional: true, example: true, description: 'Whether the user can sign in.' }) active?: boolean;
  @ListField(() => ScimReference, { optional: true, description: 'Groups of the user.' }) groups?: ScimReference[];
  @ObjectField(() => ScimMeta, { optional: true }) meta?: ScimMeta;
}

/** A group. `attributes` and `excludedAttributes` decide which attributes are present. */
export class ScimGroup {
  @TextListField({ example: [scimSchemas.group] }) schemas!: string[];
  @TextField({ example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' }) id!: string;
  @TextField({ optional: true, example: '00g1a2b3c4' }) externalId?: string;
  @TextField({ optional: true, example: 'Muster admins' }) displayName?: string;
  @ListField(() => ScimReference, { optional: true }) members?: ScimReference[];
  @ObjectField(() => ScimMeta, { optional: true }) meta?: ScimMeta;
}

class ScimList {
  @TextListField({ example: [scimSchemas.list] }) schemas!: string[];
  @IntField({ example: 1, description: 'Number of all resources that match.' }) totalResults!: number;
  @IntField({ example: 1, description: 'Position of the first returned resource, starting with 1.' })
  startIndex!: number;
  @IntField({ example: 1, description: 'Number of returned resources.' }) itemsPerPage!: number;
}

export class ScimUserList extends ScimList {
  @ListField(() => ScimUser) Resources!: ScimUser[];
}

export class ScimGroupList extends ScimList {
  @ListField(() => ScimGroup) Resources!: ScimGroup[];
}

/** A user as an identity provider sends it. Other attributes, such as a password, are ignored. */
@IgnoreUnknownFields()
export class ScimUserBody {
  @TextField({
    max: 254,
    example: 'dana@acme.com',
    description: 'Email address of the account. It is unique across all organizations.',
  })
  userName!: string;
  @TextField({ optional: true, nullable: true, min: 0, max: 300, example: '00u1a2b3c4' }) externalId?: string | null;
  @JsonField({ optional: true, nullable: true, example: { givenName: 'Dana', familyName: 'Reyes' } })
  name?: Record<string, unknown> | null;
  @TextField({ optional: true, nullable: true, min: 0, example: 'Dana Reyes' }) displayName?: string | null;
  @AnyJsonField({ optional: true, maxBytes: 20, example: true, description: activeDescription }) active?: unknown;
}

/** A group as an identity provider sends it. */
@IgnoreUnknownFields()
export class ScimGroupBody {
  @TextField({ example: 'Muster admins', visible: true, description: 'Unique in the organization.' })
  displayName!: string;
  @TextField({ optional: true, nullable: true, min: 0, max: 300, example: '00g1a2b3c4' }) externalId?: string | null;
  @JsonListField({
    optional: true,
    maxItems: maxScimMembers,
    example: [{ value: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e' }],
    description: 'Users of the group, each with the id of the account as `value`.',
  })
  members?: Record<string, unknown>[];
}

@IgnoreUnknownFields()
export class ScimOperation {
  @TextField({ max: 10, example: 'replace', description: '`add`, `replace` or `remove`, in any case.' }) op!: string;
  @TextField({
    optional: true,
    max: 500,
    example: 'active',
    description: 'Attribute to change. Without it, `value` is an object with the attributes to change.',
  })
  path?: string;
  @AnyJsonField({ optional: true, nullable: true, maxBytes: 1_000_000, example: false }) value?: unknown;
}

/** Changes of a user or a group, which are applied in their order, all or none. */
@IgnoreUnknownFields()
export class ScimPatchBody {
  @TextListField({ optional: true, example: [scimSchemas.patch] }) schemas?: string[];
  @ListField(() => ScimOperation, { minItems: 1 }) Operations!: ScimOperation[];
}

export class ScimServiceProviderConfig {
  @TextListField({ example: [scimSchemas.serviceProviderConfig] }) schemas!: string[];
  @JsonField({ example: { supported: true } }) patch!: Record<string, unknown>;
  @JsonField({ example: { supported: false, maxOperations: 0, maxPayloadSize: 0 } }) bulk!: Record<string, unknown>;
  @JsonField({ example: { supported: true, maxResults: maxScimResults } }) filter!: Record<string, unknown>;
  @JsonField({ example: { supported: false } }) changePassword!: Record<string, unknown>;
  @JsonField({ example: { supported: false } }) sort!: Record<string, unknown>;
  @JsonField({ example: { supported: false } }) etag!: Record<string, unknown>;
  @JsonListField({ example: [{ type: 'oauthbearertoken', name: 'SCIM token' }] })
  authenticationSchemes!: Record<string, unknown>[];
  @ObjectField(() => ScimMeta) meta!: ScimMeta;
}

/** The resource types or the schemas of this service. */
export class ScimDefinitionList extends ScimList {
  @JsonListField() Resources!: Record<string, unknown>[];
}

export class ScimTokenInfo {
  @DateTimeField() createdAt!: string;
  @DateTimeField({ nullable: true, description: 'Time of the last request with the token. Null before the first.' })
  lastUsedAt!: string | null;
}

export class Scim {
  @UrlField({
    example: 'https://muster.example.com/api/scim/v2',
    description: 'Base address to enter at the identity provider.',
  })
  baseUrl!: string;
  @ObjectField(() => ScimTokenInfo, { nullable: true, description: 'Null if there is no token.' })
  token!: ScimTokenInfo | null;
}

export class NewScimToken {
  @TextField({
    example: 'mscim_0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e_…',
    description: 'The token. It is shown only in this response.',
  })
  token!: string;
}
