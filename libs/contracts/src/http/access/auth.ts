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
import { type Role, roles } from '../roles';
import { passwordLength } from './users';

export class LoginBody {
  @EmailField({ example: 'admin@example.com' }) email!: string;
  @TextField({ max: 256, example: 'correct horse battery' }) password!: string;
}

export class ChangePasswordBody {
  @TextField({ max: 256, example: 'correct horse battery' }) oldPassword!: string;
  @TextField({ ...passwordLength, example: 'staple battery horse' }) newPassword!: string;
}

/** What a right password alone does not suffice for. */
const signInNeeds = ['totp', 'passkey', 'enrolment'] as const;
export type SignInNeed = (typeof signInNeeds)[number];

export class SignInNeeds {
  @EnumField(signInNeeds, {
    description:
      'totp: a code of the second factor, or a passkey. passkey: one of the passkeys, there being no other factor. ' +
      'enrolment: the organization requires a second factor, so set it up now.',
  })
  needs!: SignInNeed;
  @TextField({
    example: 'mst_0199f0c5-…',
    description: 'Proves that the password was right, for 10 minutes; it opens nothing else.',
  })
  ticket!: string;
}

/** One of the three. */
export class SecondFactorProof {
  @TextField({ optional: true, max: 20, example: '287082', description: 'A code of the authenticator app.' })
  code?: string;
  @TextField({ optional: true, max: 64, example: 'k7dq-m2xw-9c4t-hvpa', description: 'Each is good once.' })
  recoveryCode?: string;
  @JsonField({
    optional: true,
    description: 'What the browser answered to the options of POST /api/auth/passkeys/sign-in/options, as JSON.',
  })
  passkey?: Record<string, unknown>;
}

export class TotpLoginBody extends SecondFactorProof {
  @TextField({ max: 128 }) ticket!: string;
}

export class TicketBody {
  @TextField({ max: 128 }) ticket!: string;
}

export class TicketCodeBody {
  @TextField({ max: 128 }) ticket!: string;
  @TextField({ max: 20, example: '287082' }) code!: string;
}

export class CodeBody {
  @TextField({ max: 20, example: '287082' }) code!: string;
}

export class RemoveTotpBody extends SecondFactorProof {
  @TextField({ max: 256, example: 'correct horse battery' }) password!: string;
}

/** What an authenticator app is to know. */
export class TotpEnrolment {
  @TextField({ example: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' }) secret!: string;
  @TextField({ example: 'otpauth://totp/Muster:dana%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=Muster', max: 1000 })
  otpauthUri!: string;
  @TextField({ description: 'otpauthUri as a picture to scan.', example: '<svg …', max: 100_000 }) qrSvg!: string;
}

export class RecoveryCodes {
  @TextListField({ description: 'Shown this once; each is good once.', example: ['k7dq-m2xw-9c4t-hvpa'] })
  recoveryCodes!: string[];
}

export class OwnSecondFactor {
  @DateTimeField({ nullable: true, description: 'null: there are no codes of an app.' }) since!: string | null;
  @IntField({ example: 10 }) recoveryCodesLeft!: number;
  @IntField({ example: 2 }) passkeys!: number;
}

export class IdentityUser {
  @UuidField() id!: string;
  @EmailField({ nullable: true, example: 'admin@example.com', description: 'null for an API key' })
  email!: string | null;
  @EnumField(roles) role!: Role;
}

export class IdentityOrganization {
  @UuidField() id!: string;
  @TextField({ example: 'Northside Dental' }) name!: string;
}

/** The service was restored from a backup and waits for its operator. */
export class IdentityRecovery {
  @DateTimeField({ description: 'When the backup was taken.' }) savedAt!: string;
}

/** Who is signed in, and the organization that every request of theirs is about. */
export class Identity {
  @ObjectField(() => IdentityUser) user!: IdentityUser;
  @ObjectField(() => IdentityOrganization) organization!: IdentityOrganization;
  @UuidField({ optional: true, description: 'While a super_admin looks at another organization: their own.' })
  ownOrganizationId?: string;
  @ObjectField(() => IdentityRecovery, {
    optional: true,
    description:
      'In the answer of GET /api/auth/me, while a restored service waits: no machine is started or stopped, and no schedule runs.',
  })
  recoveryHold?: IdentityRecovery;
}

export class EnrolledIdentity extends Identity {
  @TextListField({ description: 'Shown this once; each is good once.', example: ['k7dq-m2xw-9c4t-hvpa'] })
  recoveryCodes!: string[];
}

export class OrganizationOverrideBody {
  @UuidField({ nullable: true, description: 'null returns to the own organization.' }) organizationId!: string | null;
}

export class SuccessAnswer {
  @BooleanField({ example: true }) success!: boolean;
}

/** One of the caller's own sessions. */
export class Session {
  @UuidField() id!: string;
  @BooleanField({ example: true, description: 'The session that asks.' }) current!: boolean;
  @DateTimeField() createdAt!: string;
  @DateTimeField({ description: 'Its last use, to 10 seconds.' }) lastSeenAt!: string;
  @DateTimeField({ description: 'When it ends, used or not.' }) expiresAt!: string;
  @IntField({ example: 60, description: 'Without use for so many minutes it is over before that.' })
  idleMinutes!: number;
  @TextField({ nullable: true, example: '203.0.113.7', description: 'The address that it was opened from.' })
  address!: string | null;
  @TextField({ nullable: true, example: 'Firefox 131 on Windows' }) browser!: string | null;
}

export class SessionList {
  @ListField(() => Session) sessions!: Session[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class EndedSessions {
  @IntField({ example: 2, description: 'How many sessions ended.' }) ended!: number;
}
