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
import type { Permission } from '@muster/contracts/words';

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
  /** Letter that opens the page when pressed after `g`. */
  letter: string;
  icon: LucideIcon;
  /** Users with one of these permissions see the page; if absent, every user sees it. */
  needs?: readonly Permission[];
}

/** Pages in the main navigation, the palette and the keyboard shortcuts. */
const places: readonly Place[] = [
  { name: 'Home', to: '/', letter: 'h', icon: House },
  { name: 'Inbox', to: '/inbox', letter: 'i', icon: Inbox, needs: ['runs.read', 'alerts.read'] },
  { name: 'Agents', to: '/agents', letter: 'a', icon: Bot, needs: ['agents.read'] },
  { name: 'Runs', to: '/runs', letter: 'r', icon: ListChecks, needs: ['runs.read'] },
  { name: 'Workflows', to: '/workflows', letter: 'w', icon: Workflow, needs: ['workflows.read'] },
  { name: 'Schedules', to: '/schedules', letter: 's', icon: CalendarClock, needs: ['schedules.read'] },
  { name: 'Packs', to: '/packs', letter: 'p', icon: Package, needs: ['packs.read'] },
  { name: 'Costs', to: '/costs', letter: 'c', icon: CircleDollarSign, needs: ['costs.read'] },
  { name: 'Autopilot', to: '/autopilot', letter: 'o', icon: Compass, needs: ['agents.read'] },
  { name: 'Feedback', to: '/feedback', letter: 'f', icon: MessageSquare, needs: ['feedback.read'] },
  { name: 'Queues', to: '/queues', letter: 'q', icon: Layers, needs: ['runs.read'] },
  { name: 'Settings', to: '/settings', letter: 'e', icon: Settings },
  { name: 'Admin', to: '/admin', letter: 'm', icon: ShieldCheck, needs: ['pricing.write', 'platform.admin'] },
];

/** Returns the pages that a user with these permissions sees. */
export function listPlacesOf({ permissions }: { permissions: readonly Permission[] }): readonly Place[] {
  return places.filter(({ needs }) => !needs || needs.some((each) => permissions.includes(each)));
}
