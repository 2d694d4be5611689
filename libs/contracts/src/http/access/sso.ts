import {
  BooleanField,
  DateTimeField,
  EmailField,
  EnumField,
  IntField,
  ListField,
  TextField,
  TextListField,
  TextMapField,
  UrlField,
} from '../fields';

const domainsDescription =
  'Email domains whose users sign in with the provider. A domain takes effect when it is proved: by a DNS record, or by ' +
  'the super_admin with PATCH /api/admin/organizations/{id}.';
const roleClaimDescription =
  'Claim of the provider that contains the role or the groups of a user. With it, the role of a user is set at each ' +
  'sign-in; a user without a known value becomes a viewer.';
const roleMapDescription =
  'Role by value of the claim; the highest role counts. Without a map, the values of the claim are names of roles.';
const enforcedDescription =
  'Whether passwords and passkeys of users of the proved domains are rejected. The admin with `breakGlass` and ' +
  'super_admins can still sign in.';

const requiredAcrDescription =
  'Authentication contexts that are sufficient for a sign-in. They are requested (`acr_values`), and the `acr` of the ID ' +
  'token must be one of them. Any context is sufficient if the list is empty.';
const requiredAmrDescription =
  'Authentication methods that a sign-in must have used, such as mfa. The `amr` of the ID token must contain all of them.';
const maxAgeDescription =
  'Maximum number of seconds since the user proved to the provider who they are. It is requested (`max_age`), and the ' +
  '`auth_time` of the ID token is compared with it. Null accepts any time.';

export class PutSsoBody {
  @UrlField({
    max: 500,
    example: 'https://acme.okta.com',
    description:
      'Issuer of the OpenID Connect provider: the address before /.well-known/openid-configuration. It must use https; ' +
      'http is accepted only on a loopback address.',
  })
  issuer!: string;
  @TextField({ max: 500, example: '0oa1b2c3d4', description: 'Client ID that the provider assigned to this service.' })
  clientId!: string;
  @TextField({
    max: 2000,
    optional: true,
    example: 'client secret of the provider',
    description:
      'Client secret that the provider assigned. The secret is stored encrypted and never returned. It can be absent ' +
      'if one is stored and the issuer and the client ID do not change.',
  })
  clientSecret?: string;
  @TextListField({ maxItems: 20, max: 253, example: ['acme.com'], description: domainsDescription })
  domains!: string[];
  @TextField({ optional: true, nullable: true, max: 200, example: 'groups', description: roleClaimDescription })
  roleClaim?: string | null;
  @TextMapField({
    optional: true,
    nullable: true,
    maxKeys: 100,
    max: 64,
    example: { 'Muster admins': 'admin' },
    description: roleMapDescription,
  })
  roleMap?: Record<string, string> | null;
  @BooleanField({ example: false, description: enforcedDescription }) enforced!: boolean;
  @TextListField({
    ...{ optional: true, maxItems: 20, max: 200, example: ['urn:okta:loa:2fa:any'] },
    description: requiredAcrDescription,
  })
  requiredAcr?: string[];
  @TextListField({ optional: true, maxItems: 20, max: 100, example: ['mfa'], description: requiredAmrDescription })
  requiredAmr?: string[];
  @IntField({
    ...{ optional: true, nullable: true, min: 0, max: 31_536_000, example: 3600 },
    description: maxAgeDescription,
  })
  maxAgeSeconds?: number | null;
}

const domainProvers = ['dns', 'super_admin'] as const;
type DomainProver = (typeof domainProvers)[number];

/** The state of one email domain, and the DNS record that proves it. */
export class SsoDomain {
  @TextField({ max: 253, example: 'acme.com' }) domain!: string;
  @DateTimeField({ nullable: true, description: 'Time at which the domain was proved. Null if it is not proved.' })
  provedAt!: string | null;
  @EnumField(domainProvers, { nullable: true }) provedBy!: DomainProver | null;
  @TextField({ max: 300, example: '_muster-challenge.acme.com', description: 'Name of the TXT record.' })
  recordName!: string;
  @TextField({ example: 'muster-domain-proof=q0Yx…', description: 'Value of the TXT record.' })
  recordValue!: string;
}

export class Sso {
  @UrlField({ example: 'https://acme.okta.com' }) issuer!: string;
  @TextField({ max: 500, example: '0oa1b2c3d4' }) clientId!: string;
  @TextListField({ max: 253, example: ['acme.com'], description: domainsDescription }) domains!: string[];
  @TextField({ nullable: true, example: 'groups', description: roleClaimDescription }) roleClaim!: string | null;
  @TextMapField({ nullable: true, example: { 'Muster admins': 'admin' }, description: roleMapDescription })
  roleMap!: Record<string, string> | null;
  @BooleanField({ example: false, description: enforcedDescription }) enforced!: boolean;
  @TextListField({ max: 200, example: ['urn:okta:loa:2fa:any'], description: requiredAcrDescription })
  requiredAcr!: string[];
  @TextListField({ max: 100, example: ['mfa'], description: requiredAmrDescription }) requiredAmr!: string[];
  @IntField({ nullable: true, example: 3600, description: maxAgeDescription }) maxAgeSeconds!: number | null;
  @UrlField({
    example: 'https://muster.example.com/api/auth/sso/callback',
    description: 'Redirect address (sign-in callback) to register at the provider.',
  })
  redirectUri!: string;
  @ListField(() => SsoDomain) domainProofs!: SsoDomain[];
}

export class ProveDomainBody {
  @TextField({
    max: 253,
    example: 'acme.com',
    description: 'Email domain, which is in the `domains` of PUT /api/organization/sso.',
  })
  domain!: string;
}

export class SsoTest {
  @BooleanField({ example: true, description: 'Whether a sign-in with the provider can work.' }) ok!: boolean;
  @TextField({ max: 1000, example: 'The provider accepts the client ID and the client secret.' }) message!: string;
}

export class SsoStartQuery {
  @EmailField({ description: 'Email address of the user. Its domain selects the provider.' }) email!: string;
}
