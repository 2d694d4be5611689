import {
  Bot,
  CircleDollarSign,
  Compass,
  CalendarClock,
  House,
  Inbox,
  Layers,
  ListChecks,
  type LucideIcon,
  MessageSquare,
  Package,
  Settings,
  ShieldCheck,
  Workflow,
} from 'lucide-react';
import { hasRole, type Role } from '@muster/contracts/words';

export interface Place {
  name: string;
  to:
    | '/'
    | '/inbox'
    | '/agents'
    | '/runs'
    | '/workflows'
    | '/schedules'
    | '/packs'
    | '/costs'
    | '/autopilot'
    | '/feedback'
    | '/queues'
    | '/settings'
    | '/admin';
  /** `g` and this letter go there. */
  letter: string;
  icon: LucideIcon;
  /** Who is offered it; all, unless said. */
  from?: Role;
}

/** The main navigation, the palette and the keys, from one table. Only pages that are there stand in it. */
const places: readonly Place[] = [
  { name: 'Home', to: '/', letter: 'h', icon: House },
  { name: 'Inbox', to: '/inbox', letter: 'i', icon: Inbox },
  { name: 'Agents', to: '/agents', letter: 'a', icon: Bot },
  { name: 'Runs', to: '/runs', letter: 'r', icon: ListChecks },
  { name: 'Workflows', to: '/workflows', letter: 'w', icon: Workflow },
  { name: 'Schedules', to: '/schedules', letter: 's', icon: CalendarClock },
  { name: 'Packs', to: '/packs', letter: 'p', icon: Package },
  { name: 'Costs', to: '/costs', letter: 'c', icon: CircleDollarSign },
  { name: 'Autopilot', to: '/autopilot', letter: 'o', icon: Compass },
  { name: 'Feedback', to: '/feedback', letter: 'f', icon: MessageSquare },
  { name: 'Queues', to: '/queues', letter: 'q', icon: Layers },
  { name: 'Settings', to: '/settings', letter: 'e', icon: Settings },
  { name: 'Admin', to: '/admin', letter: 'm', icon: ShieldCheck, from: 'admin' },
];

/** Those that somebody of this role is offered. */
export function placesOf(role: Role): readonly Place[] {
  return places.filter(({ from }) => !from || hasRole(role, from));
}
