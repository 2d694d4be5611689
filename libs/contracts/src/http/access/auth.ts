import { BooleanField, EmailField, EnumField, ObjectField, TextField, UuidField } from '../fields';
import { type Role, roles } from '../roles';

export class LoginBody {
  @EmailField({ example: 'admin@example.com' }) email!: string;
  @TextField({ max: 256, example: 'correct horse battery' }) password!: string;
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

/** Who is signed in, and the organization that every request of theirs is about. */
export class Identity {
  @ObjectField(() => IdentityUser) user!: IdentityUser;
  @ObjectField(() => IdentityOrganization) organization!: IdentityOrganization;
  @UuidField({ optional: true, description: 'While a super_admin looks at another organization: their own.' })
  ownOrganizationId?: string;
}

export class OrganizationOverrideBody {
  @UuidField({ nullable: true, description: 'null returns to the own organization.' }) organizationId!: string | null;
}

export class SuccessAnswer {
  @BooleanField({ example: true }) success!: boolean;
}
