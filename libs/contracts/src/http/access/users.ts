import { BooleanField, DateTimeField, EmailField, EnumField, ListField, TextField, UuidField } from '../fields';
import { type Role, roles } from '../roles';

export class User {
  @UuidField() id!: string;
  @EmailField({ example: 'dana@example.com' }) email!: string;
  @EnumField(roles) role!: Role;
  @BooleanField({ example: false }) disabled!: boolean;
  @DateTimeField() createdAt!: string;
  @DateTimeField({ nullable: true }) lastSignInAt!: string | null;
}

export class UserList {
  @ListField(() => User) users!: User[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class CreateUserBody {
  @EmailField({ example: 'dana@example.com' }) email!: string;
  @TextField({ min: 8, max: 256, example: 'correct horse battery' }) password!: string;
  @EnumField(roles, { example: 'member' }) role!: Role;
}

export class UpdateUserBody {
  @EnumField(roles, { optional: true, example: 'viewer' }) role?: Role;
  @TextField({ optional: true, min: 8, max: 256, example: 'staple battery horse' }) password?: string;
  @BooleanField({ optional: true, example: false }) disabled?: boolean;
}
