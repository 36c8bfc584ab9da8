"""Games of old consoles through stable-retro: `Retro/<Game>`."""
