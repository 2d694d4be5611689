import { BooleanField, IntField, ListField, TextField, TextListField } from '../fields';
import { ownRolePermissions, type Permission, permissions } from '../permissions';

/** Maximum number of own roles of an organization. */
export const maxOwnRoles = 100;

/** Options of a field with the role of a user. */
export const userRole = {
  max: 50,
  example: 'member',
  description: 'The role: viewer, member, admin or super_admin, or the name of an own role of the organization.',
};

const listed = {
  example: ['runs.read', 'runs.write'],
  description: 'Permissions of the role. The operations of this document state the permission that they need.',
};

export class OwnRole {
  @TextField({ max: 50, example: 'Front desk' }) name!: string;
  @TextListField({ ...listed, values: permissions }) permissions!: Permission[];
  @BooleanField({
    example: false,
    description: 'Whether the role is one of viewer, member, admin and super_admin, which cannot be changed.',
  })
  builtIn!: boolean;
  @IntField({ example: 3, description: 'Number of users with the role, including disabled ones.' }) users!: number;
}

export class OwnRoleList {
  @ListField(() => OwnRole) roles!: OwnRole[];
}

export class CreateOwnRoleBody {
  @TextField({
    max: 50,
    pattern: /^[A-Za-z0-9]([A-Za-z0-9 ._-]*[A-Za-z0-9])?$/,
    example: 'Front desk',
    description: 'Name that no other role of the organization has, regardless of upper and lower case.',
  })
  name!: string;
  @TextListField({ ...listed, values: ownRolePermissions, minItems: 1 }) permissions!: Permission[];
}

export class UpdateOwnRoleBody {
  @TextListField({ ...listed, values: ownRolePermissions, minItems: 1 }) permissions!: Permission[];
}
