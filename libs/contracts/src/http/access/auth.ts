import {
  BooleanField,
  DateTimeField,
  EmailField,
  EnumField,
  IntField,
  JsonField,
  ListField,
  ObjectField,
  TextField,
  TextListField,
  UuidField,
} from '../fields';
import { type Permission, permissions } from '../permissions';
import { userRole } from './own-roles';
import { passwordLength } from './users';

export class LoginBody {
  @EmailField({ example: 'admin@example.com' }) email!: string;
  @TextField({ max: 256, example: 'correct horse battery' }) password!: string;
}

export class ChangePasswordBody {
  @TextField({ max: 256, example: 'correct horse battery' }) oldPassword!: string;
  @TextField({ ...passwordLength, example: 'staple battery horse' }) newPassword!: string;
}

/** The step that the user must still complete after a correct password. */
const signInNeeds = ['totp', 'passkey', 'enrolment'] as const;
export type SignInNeed = (typeof signInNeeds)[number];

export class SignInNeeds {
  @EnumField(signInNeeds, {
    description:
      'Next step of the sign-in. totp: send a code of the authenticator app, or use a passkey. passkey: use a ' +
      'passkey, because the user has no authenticator app. enrolment: set up a second factor, because the ' +
      'organization or the service requires one.',
  })
  needs!: SignInNeed;
  @TextField({
    example: 'mst_0199f0c5-…',
    description: 'Token for the next step of the sign-in, valid for 10 minutes. The token gives no other access.',
  })
  ticket!: string;
}

/** Proof of a second factor: exactly one of the fields. */
export class SecondFactorProof {
  @TextField({ optional: true, max: 20, example: '287082', description: 'Code of the authenticator app.' })
  code?: string;
  @TextField({
    optional: true,
    max: 64,
    example: 'k7dq-m2xw-5c4t-hvpa-3zrb-uy6n',
    description: 'Recovery code. Each code can be used once.',
  })
  recoveryCode?: string;
  @JsonField({
    optional: true,
    description: 'JSON response of the browser to the options of POST /api/auth/passkeys/sign-in/options.',
  })
  passkey?: Record<string, unknown>;
  @JsonField({ optional: true, description: 'Same as `passkey`.' })
  response?: Record<string, unknown>;
}

export class TotpLoginBody extends SecondFactorProof {
  @TextField({ max: 128 }) ticket!: string;
}

export class TicketBody {
  @TextField({ max: 128 }) ticket!: string;
}

/** A ticket for a user whose sign-in requires a second factor; absent for a user who is signed in. */
const enrolmentTicket = {
  ...({ optional: true, max: 128 } as const),
  description: 'Ticket of a sign-in with `needs: "enrolment"`, which replaces the session.',
};

export class TotpBeginBody {
  @TextField(enrolmentTicket) ticket?: string;
}

export class TotpConfirmBody {
  @TextField({ max: 20, example: '287082' }) code!: string;
  @TextField(enrolmentTicket) ticket?: string;
}

export class TicketCodeBody {
  @TextField({ max: 128 }) ticket!: string;
  @TextField({ max: 20, example: '287082' }) code!: string;
}

export class RemoveTotpBody extends SecondFactorProof {
  @TextField({ max: 256, example: 'correct horse battery' }) password!: string;
}

/** Data with which a user sets up an authenticator app. */
export class TotpEnrolment {
  @TextField({ example: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' }) secret!: string;
  @TextField({ example: 'otpauth://totp/Muster:dana%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=Muster', max: 1000 })
  otpauthUri!: string;
  @TextField({ description: 'QR code of otpauthUri as SVG.', example: '<svg …', max: 100_000 }) qrSvg!: string;
}

export class RecoveryCodes {
  @TextListField({
    description:
      'Recovery codes. Save the codes now, because no later response contains them. Each code can be used once.',
    example: ['k7dq-m2xw-5c4t-hvpa-3zrb-uy6n'],
  })
  recoveryCodes!: string[];
}

export class OwnSecondFactor {
  @DateTimeField({
    nullable: true,
    description: 'Time since which the user has a second factor. Null if the user has no authenticator app.',
  })
  since!: string | null;
  @IntField({ example: 10 }) recoveryCodesLeft!: number;
  @IntField({ example: 2 }) passkeys!: number;
}

export class IdentityUser {
  @UuidField() id!: string;
  @EmailField({
    nullable: true,
    example: 'admin@example.com',
    description: 'Email address of the user. Null for an API key.',
  })
  email!: string | null;
  @TextField(userRole) role!: string;
  @TextListField({
    values: permissions,
    example: ['runs.read', 'runs.write'],
    description: 'Permissions of the role, which the operations of this document name.',
  })
  permissions!: Permission[];
}

export class IdentityOrganization {
  @UuidField() id!: string;
  @TextField({ example: 'Northside Dental' }) name!: string;
}

/** The state of a service that was restored from a backup and waits for its operator. */
export class IdentityRecovery {
  @DateTimeField({ description: 'Time at which the backup was made.' }) savedAt!: string;
}

/** The signed-in user and the organization that the user's requests apply to. */
export class Identity {
  @ObjectField(() => IdentityUser) user!: IdentityUser;
  @ObjectField(() => IdentityOrganization) organization!: IdentityOrganization;
  @UuidField({
    optional: true,
    description:
      'ID of the super_admin’s own organization. Present while the super_admin works in another organization.',
  })
  ownOrganizationId?: string;
  @ObjectField(() => IdentityRecovery, {
    optional: true,
    description:
      'Present in the response of GET /api/auth/me after the service was restored from a backup, until the operator ' +
      'releases it. Until then, no machine is started or stopped and no schedule runs.',
  })
  recoveryHold?: IdentityRecovery;
}

export class EnrolledIdentity extends Identity {
  @TextListField({
    description:
      'Recovery codes. Save the codes now, because no later response contains them. Each code can be used once.',
    example: ['k7dq-m2xw-5c4t-hvpa-3zrb-uy6n'],
  })
  recoveryCodes!: string[];
}

export class OrganizationOverrideBody {
  @UuidField({
    nullable: true,
    description: 'ID of the organization to work in. Null returns to the own organization.',
  })
  organizationId!: string | null;
}

export class SuccessAnswer {
  @BooleanField({ example: true }) success!: boolean;
}

/** One of the caller's sessions. */
export class Session {
  @UuidField() id!: string;
  @BooleanField({ example: true, description: 'Whether this session sent the request.' }) current!: boolean;
  @DateTimeField() createdAt!: string;
  @DateTimeField({ description: 'Time of the last use, accurate to 10 seconds.' }) lastSeenAt!: string;
  @DateTimeField({ description: 'Time at which the session ends even if it is in use.' }) expiresAt!: string;
  @IntField({ example: 60, description: 'Number of minutes without use after which the session ends earlier.' })
  idleMinutes!: number;
  @TextField({ nullable: true, example: '203.0.113.7', description: 'IP address from which the session was opened.' })
  address!: string | null;
  @TextField({ nullable: true, example: 'Firefox 131 on Windows' }) browser!: string | null;
}

export class SessionList {
  @ListField(() => Session) sessions!: Session[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class EndedSessions {
  @IntField({ example: 2, description: 'Number of sessions that were ended.' }) ended!: number;
}
