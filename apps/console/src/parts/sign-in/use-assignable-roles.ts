import { useQuery } from '@tanstack/react-query';
import { rolesQuery } from '../../api/queries';
import { useCurrentUser } from '../../api/session';

/** The names of the roles that the user can give: those that have no permission beyond the user's own. */
export function useAssignableRoles(): string[] {
  const { permissions } = useCurrentUser().user;
  const { data = [] } = useQuery(rolesQuery);
  const isAssignable = (each: { permissions: string[] }) =>
    each.permissions.every((permission) => (permissions as string[]).includes(permission));
  return data.filter((each) => each.name !== 'super_admin' && isAssignable(each)).map(({ name }) => name);
}
