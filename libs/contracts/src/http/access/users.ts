import { BooleanField, DateTimeField, EmailField, ListField, TextField, UuidField } from '../fields';
import { userRole } from './own-roles';

/** Length of a new password. It must also differ from the 10,000 most common passwords and the email address. */
export const passwordLength = { min: 12, max: 128 };

export class User {
  @UuidField() id!: string;
  @EmailField({ example: 'dana@example.com' }) email!: string;
  @TextField(userRole) role!: string;
  @BooleanField({ example: false }) disabled!: boolean;
  @DateTimeField() createdAt!: string;
  @DateTimeField({ nullable: true }) lastSignInAt!: string | null;
  @DateTimeField({
    nullable: true,
    description: 'Time since which the user has a second factor. Null if the user has none.',
  })
  secondFactorSince!: string | null;
  @BooleanField({
    example: false,
    description:
      'Whether this admin may sign in with a password and a second factor, or with a passkey, although single sign-on ' +
      'is enforced. Each such sign-in emits the event `user.break_glass`.',
  })
  breakGlass!: boolean;
}

export class UserList {
  @ListField(() => User) users!: User[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class CreateUserBody {
  @EmailField({ example: 'dana@example.com' }) email!: string;
  @TextField({ ...passwordLength, example: 'correct horse battery' }) password!: string;
  @TextField(userRole) role!: string;
}

export class UpdateUserBody {
  @TextField({ ...userRole, optional: true, example: 'viewer' }) role?: string;
  @TextField({ optional: true, ...passwordLength, example: 'staple battery horse' }) password?: string;
  @BooleanField({ optional: true, example: false }) disabled?: boolean;
  @BooleanField({
    optional: true,
    example: false,
    description: 'Emergency access while single sign-on is enforced. Only one admin of the organization can have it.',
  })
  breakGlass?: boolean;
}
